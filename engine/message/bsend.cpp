// SPDX-License-Identifier: BSD-3-Clause
// Chapter 3.6: buffered sends, and the buffers behind them.
#include "engine/message/bsend.hpp"

#include <fmt/format.h>

#include <cstdlib>

#include "engine/message/p2p.hpp"
#include "engine/message/requests.hpp"

namespace rmq::mpi {
namespace {

constexpr std::uintptr_t kAlignment = 16;

std::byte* aligned(std::byte* at) {
  const auto address = reinterpret_cast<std::uintptr_t>(at);
  return at + ((address + kAlignment - 1) / kAlignment * kAlignment - address);
}

/// The buffer that serves a communicator: its own, that of the session it comes from, that of the process. nullptr:
/// none is attached.
BsendBuffer* buffer_of(const Comm& c) {
  if (c.bsend) return c.bsend.get();
  const Session* s = c.group->session != MPI_SESSION_NULL ? runtime().sessions.find(c.group->session) : nullptr;
  return s && s->bsend ? s->bsend.get() : runtime().bsend.get();
}

/// The message has left: its slot is free again.
void on_sent(Request* r) {
  auto* const slot = const_cast<std::byte*>(static_cast<const std::byte*>(r->view.base));
  for (BsendBuffer* b = BsendBuffer::newest; b && !b->give_back(slot); b = b->older) continue;
  release(static_cast<Comm*>(r->user));
  r->on_complete = nullptr;  // a cancel may make it complete a second time
}

std::byte* slot_for(const Comm& c, std::uint64_t bytes) {
  BsendBuffer* b = buffer_of(c);
  std::byte* slot = b ? b->take(bytes) : nullptr;
  if (b && !slot) {
    runtime().device->MPID_Poll(false);  // something may be about to leave; or another thread to detach
    b = buffer_of(c);
    slot = b ? b->take(bytes) : nullptr;
  }
  if (slot) return slot;
  if (!b) {
    fail_call(MPI_ERR_BUFFER, fmt::format("no room for a message of {} bytes: no buffer is attached "
                                          "(MPI_Buffer_attach, MPI_Comm_attach_buffer, MPI_Session_attach_buffer)",
                                          bytes));
  }
  if (b->is_automatic()) fail_call(MPI_ERR_NO_MEM, fmt::format("no memory for a message of {} bytes", bytes));
  fail_call(MPI_ERR_BUFFER,
            fmt::format("no room for a message of {} bytes in the attached buffer of {} bytes", bytes, b->size()));
}

/// Sends a copy of the data from a slot. The request is the caller's.
Request* send_copy(Comm& c, const DataView& view, int dest, int tag) {
  adi::Device& device = *runtime().device;
  std::byte* const slot = slot_for(c, view.bytes);
  pack(slot, view, 0, view.bytes);
  Request* r = device.MPID_Request_create(RequestKind::send);
  prepare_send(r, c, {slot, static_cast<MPI_Count>(view.bytes), find_datatype(MPI_BYTE)}, dest, tag,
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
    set_sent_status(status, send_->status.cancelled);
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

}  // namespace

// ---- a buffer ----

BsendBuffer::BsendBuffer(void* memory, std::uint64_t size) : memory_(memory), size_(size) {
  if (older) older->newer = this;
  newest = this;
}

BsendBuffer::~BsendBuffer() {
  (newer ? newer->older : newest) = older;
  if (older) older->newer = newer;
}

bool BsendBuffer::is_automatic() const {
  return memory_ == MPI_BUFFER_AUTOMATIC;
}

/// The first gap that is large enough.
std::byte* BsendBuffer::find_gap(std::uint64_t bytes) const {
  auto* at = static_cast<std::byte*>(memory_);
  std::byte* const end = at + size_;
  const auto fits = [&](const std::byte* before) {
    return at <= before && static_cast<std::uint64_t>(before - at) >= bytes;
  };
  for (const auto& [start, slot] : slots_) {
    if (fits(start)) return at;
    at = aligned(slot.end);
  }
  return fits(end) ? at : nullptr;
}

std::byte* BsendBuffer::take(std::uint64_t bytes) {
  if (bytes == 0) bytes = 1;  // each slot has an address of its own
  std::byte* const slot = is_automatic() ? static_cast<std::byte*>(std::malloc(bytes)) : find_gap(bytes);
  if (!slot) return nullptr;
  slots_.emplace(slot, Slot{slot + bytes, next_number_});
  numbers_.insert(next_number_++);
  return slot;
}

bool BsendBuffer::give_back(std::byte* slot) {
  const auto found = slots_.find(slot);
  if (found == slots_.end()) return false;
  numbers_.erase(found->second.number);
  slots_.erase(found);
  if (is_automatic()) std::free(slot);
  return true;
}

// ---- sends ----

void send_buffered(Comm& c, const Buffer& data, int dest, int tag) {
  adi::Device& device = *runtime().device;
  const DataView view = view_of(*data.type, data.data, data.count);
  if (view.is_contiguous() && device.send_now(c.world_of(dest), send_match(c, tag), view.base, view.bytes)) return;
  device.MPID_Request_free(send_copy(c, view, dest, tag));
}

MPI_Request start_buffered(Comm& c, const Buffer& data, int dest, int tag) {
  Request* r = send_copy(c, view_of(*data.type, data.data, data.count), dest, tag);
  return new_activity_request(std::make_unique<Buffered>(c, r));
}

void drain(const BsendBuffer& buffer) {
  const std::uint64_t all = buffer.next_number();
  while (!buffer.has_sent(all)) runtime().device->MPID_Poll(true);
}

void drain_bsend_buffers() {
  const auto any_in_use = [] {
    for (const BsendBuffer* b = BsendBuffer::newest; b; b = b->older) {
      if (!b->has_sent(b->next_number())) return true;
    }
    return false;
  };
  while (any_in_use()) runtime().device->MPID_Poll(true);
}

}  // namespace rmq::mpi
