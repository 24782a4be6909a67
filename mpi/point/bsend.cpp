// Chapter 3.6: the attached buffer. Each message that cannot leave at once gets a slot, the first gap that is large
// enough; the records of the slots are not in the buffer, so whatever MPI_BSEND_OVERHEAD allows for is spare room.
#include "mpi/internal/bsend.hpp"

#include <fmt/format.h>

#include <limits>
#include <map>

#include "mpi/internal/comms.hpp"
#include "mpi/internal/p2p.hpp"
#include "mpi/internal/requests.hpp"

namespace rmq::mpi {
namespace {

constexpr std::uint64_t kAlignment = 16;

/// Touched with the device held.
struct Attached {
  std::byte* base = nullptr;
  std::uint64_t size = 0;
  bool attached = false;
  std::map<std::uint64_t, std::uint64_t> slots;  // offset in the buffer, and end of the slot
};
Attached& buffer() {
  static Attached* const one = new Attached;
  return *one;
}

/// Offset of the first gap of `bytes`; false when there is none.
bool find_gap(const Attached& b, std::uint64_t bytes, std::uint64_t& offset) {
  offset = 0;
  for (const auto& [start, end] : b.slots) {
    if (offset + bytes <= start) return true;
    offset = (end + kAlignment - 1) / kAlignment * kAlignment;
  }
  return offset + bytes <= b.size;
}

/// The message has left: its slot is free again.
void on_sent(Request* r) {
  Attached& b = buffer();
  b.slots.erase(static_cast<std::uint64_t>(r->view.base - b.base));
  release(static_cast<Comm*>(r->user));
  r->on_complete = nullptr;  // a cancel may make it complete a second time
}

/// Sends a copy of the data from a slot. The request is the caller's.
Request* send_copy(Comm& c, const DataView& view, int dest, int tag) {
  adi::Device& device = *runtime().device;
  Attached& b = buffer();
  std::uint64_t offset = 0;
  const std::uint64_t bytes = view.bytes ? view.bytes : 1;  // each slot has an offset of its own
  if (!find_gap(b, bytes, offset)) {
    device.MPID_Poll(false);  // something may be about to leave
    if (!find_gap(b, bytes, offset)) {
      fail_call(MPI_ERR_BUFFER, fmt::format("no room for a message of {} bytes in the attached buffer of {} bytes",
                                            view.bytes, b.size));
    }
  }
  pack(b.base + offset, view, 0, view.bytes);
  b.slots.emplace(offset, offset + bytes);
  Request* r = device.MPID_Request_create(RequestKind::send);
  prepare_send(r, c, {b.base + offset, static_cast<MPI_Count>(view.bytes), find_datatype(MPI_BYTE)}, dest, tag,
               SendMode::standard);
  r->user = &c;
  retain(c);
  r->on_complete = on_sent;
  device.MPID_Isend(r);
  return r;
}

/// MPI_Ibsend: complete at once, but once it is to be cancelled only when that is decided.
class Buffered final : public Activity {
 public:
  Buffered(Comm& c, Request* send) : Activity(&c), send_(send) {}
  ~Buffered() override { runtime().device->MPID_Request_free(send_); }
  bool complete() override { return !cancelling_ || send_->complete(); }
  int peek(MPI_Status* status) override {
    set_empty_status(status, send_->status.cancelled);
    return MPI_SUCCESS;
  }
  int finish(MPI_Status* status) override { return peek(status); }
  void cancel() override {
    cancelling_ = true;
    runtime().device->MPID_Cancel(send_);
  }

 private:
  Request* send_;
  bool cancelling_ = false;
};

void attach(void* memory, MPI_Count size) {
  Attached& b = buffer();
  if (size < 0) fail_call(MPI_ERR_ARG, fmt::format("argument size is negative: {}", size));
  if (b.attached) fail_call(MPI_ERR_BUFFER, "a buffer is attached already");
  if (size > 0) out(memory, "buffer");
  b = {static_cast<std::byte*>(memory), static_cast<std::uint64_t>(size), true, {}};
}

template <class Size>
void detach(void* address, Size* size) {
  Attached& b = buffer();
  out(address, "buffer_addr");
  out(size, "size");
  if (!b.attached) {
    *static_cast<void**>(address) = nullptr;
    *size = 0;
    return;
  }
  if (b.size > static_cast<std::uint64_t>(std::numeric_limits<Size>::max())) {
    fail_call(MPI_ERR_VALUE_TOO_LARGE, "the size of the buffer does not fit an int: use MPI_Buffer_detach_c");
  }
  drain_bsend_buffer();
  *static_cast<void**>(address) = b.base;
  *size = static_cast<Size>(b.size);
  b = {};
}

}  // namespace

void send_buffered(Comm& c, const Buffer& data, int dest, int tag) {
  adi::Device& device = *runtime().device;
  const DataView view = view_of(*data.type, data.data, data.count);
  if (view.is_contiguous() && device.MPID_Send_now(c.world_of(dest), send_match(c, tag), view.base, view.bytes)) return;
  device.MPID_Request_free(send_copy(c, view, dest, tag));
}

MPI_Request start_buffered(Comm& c, const Buffer& data, int dest, int tag) {
  Request* r = send_copy(c, view_of(*data.type, data.data, data.count), dest, tag);
  return new_activity_request(std::make_unique<Buffered>(c, r));
}

void drain_bsend_buffer() {
  while (!buffer().slots.empty()) runtime().device->MPID_Poll(true);
}

RMQ_MPI(int, Buffer_attach, (void* buf, int size)) {
  return enter([&] { attach(buf, size); });
}
RMQ_MPI(int, Buffer_attach_c, (void* buf, MPI_Count size)) {
  return enter([&] { attach(buf, size); });
}
RMQ_MPI(int, Buffer_detach, (void* buffer_addr, int* size)) {
  return enter([&] { detach(buffer_addr, size); });
}
RMQ_MPI(int, Buffer_detach_c, (void* buffer_addr, MPI_Count* size)) {
  return enter([&] { detach(buffer_addr, size); });
}

}  // namespace rmq::mpi
