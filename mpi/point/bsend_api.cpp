// SPDX-License-Identifier: BSD-3-Clause
// Chapter 3.6 of MPI-4.1: buffers of the process, of a communicator, of a session: attached, flushed, detached.
#include <fmt/format.h>

#include <limits>

#include "engine/comm/comms.hpp"
#include "engine/message/bsend.hpp"
#include "engine/message/requests.hpp"
#include "mpi/define.hpp"
#include "mpi/env/sessions.hpp"

namespace rmq::mpi {
namespace {

using BufferPlace = std::shared_ptr<BsendBuffer>;

void attach(BufferPlace& place, void* memory, MPI_Count size) {
  if (size < 0) fail_call(MPI_ERR_ARG, fmt::format("argument size is negative: {}", size));
  if (place) fail_call(MPI_ERR_BUFFER, "a buffer is attached already");
  const bool automatic = memory == MPI_BUFFER_AUTOMATIC;
  if (size > 0 && !automatic) out(memory, "buffer");
  place = std::make_shared<BsendBuffer>(memory, automatic ? 0 : static_cast<std::uint64_t>(size));
}

template <class Size>
void detach(BufferPlace& place, void* address, Size* size) {
  out(address, "buffer_addr");
  out(size, "size");
  if (!place) {
    *static_cast<void**>(address) = nullptr;
    *size = 0;
    return;
  }
  if (place->size() > static_cast<std::uint64_t>(std::numeric_limits<Size>::max())) {
    fail_call(MPI_ERR_VALUE_TOO_LARGE, "the size of the buffer does not fit an int: use the function that ends in _c");
  }
  // Another thread must not find it while this one waits.
  const BufferPlace mine = std::move(place);
  place.reset();
  drain(*mine);
  *static_cast<void**>(address) = mine->memory();
  *size = static_cast<Size>(mine->size());
}

void flush(const BufferPlace& place) {
  if (const BufferPlace mine = place) drain(*mine);
}

/// A flush in the background: of what the buffer holds as it begins.
class Flush final : public Activity {
 public:
  Flush(Comm* comm, const BufferPlace& place)
      : Activity(comm), buffer_(place), until_(place ? place->next_number() : 0) {}
  bool complete() override { return !buffer_ || buffer_->has_sent(until_); }
  int peek(MPI_Status* status) override {
    set_sent_status(status);
    return MPI_SUCCESS;
  }
  int finish(MPI_Status* status) override { return peek(status); }

 private:
  const BufferPlace buffer_;  // lives on when it is detached meanwhile
  const std::uint64_t until_;
};

void iflush(Comm* comm, const BufferPlace& place, MPI_Request* request) {
  *out(request, "request") = MPI_REQUEST_NULL;
  *request = new_activity_request(std::make_unique<Flush>(comm, place));
}

}  // namespace

// ---- of the process ----

RMQ_MPI(int, Buffer_attach, (void* buf, int size)) {
  return enter([&] { attach(runtime().bsend, buf, size); });
}
RMQ_MPI(int, Buffer_attach_c, (void* buf, MPI_Count size)) {
  return enter([&] { attach(runtime().bsend, buf, size); });
}
RMQ_MPI(int, Buffer_detach, (void* buffer_addr, int* size)) {
  return enter([&] { detach(runtime().bsend, buffer_addr, size); });
}
RMQ_MPI(int, Buffer_detach_c, (void* buffer_addr, MPI_Count* size)) {
  return enter([&] { detach(runtime().bsend, buffer_addr, size); });
}
RMQ_MPI(int, Buffer_flush, (void)) {
  return enter([&] { flush(runtime().bsend); });
}
RMQ_MPI(int, Buffer_iflush, (MPI_Request * request)) {
  return enter([&] { iflush(nullptr, runtime().bsend, request); });
}

// ---- of a communicator ----

RMQ_MPI(int, Comm_attach_buffer, (MPI_Comm comm, void* buffer, int size)) {
  return enter(comm, [&](Comm& c) { attach(c.bsend, buffer, size); });
}
RMQ_MPI(int, Comm_attach_buffer_c, (MPI_Comm comm, void* buffer, MPI_Count size)) {
  return enter(comm, [&](Comm& c) { attach(c.bsend, buffer, size); });
}
RMQ_MPI(int, Comm_detach_buffer, (MPI_Comm comm, void* buffer_addr, int* size)) {
  return enter(comm, [&](Comm& c) { detach(c.bsend, buffer_addr, size); });
}
RMQ_MPI(int, Comm_detach_buffer_c, (MPI_Comm comm, void* buffer_addr, MPI_Count* size)) {
  return enter(comm, [&](Comm& c) { detach(c.bsend, buffer_addr, size); });
}
RMQ_MPI(int, Comm_flush_buffer, (MPI_Comm comm)) {
  return enter(comm, [&](Comm& c) { flush(c.bsend); });
}
RMQ_MPI(int, Comm_iflush_buffer, (MPI_Comm comm, MPI_Request* request)) {
  return enter(comm, [&](Comm& c) { iflush(&c, c.bsend, request); });
}

// ---- of a session ----

RMQ_MPI(int, Session_attach_buffer, (MPI_Session session, void* buffer, int size)) {
  return enter_session(session, [&](Session& s) { attach(s.bsend, buffer, size); });
}
RMQ_MPI(int, Session_attach_buffer_c, (MPI_Session session, void* buffer, MPI_Count size)) {
  return enter_session(session, [&](Session& s) { attach(s.bsend, buffer, size); });
}
RMQ_MPI(int, Session_detach_buffer, (MPI_Session session, void* buffer_addr, int* size)) {
  return enter_session(session, [&](Session& s) { detach(s.bsend, buffer_addr, size); });
}
RMQ_MPI(int, Session_detach_buffer_c, (MPI_Session session, void* buffer_addr, MPI_Count* size)) {
  return enter_session(session, [&](Session& s) { detach(s.bsend, buffer_addr, size); });
}
RMQ_MPI(int, Session_flush_buffer, (MPI_Session session)) {
  return enter_session(session, [&](Session& s) { flush(s.bsend); });
}
RMQ_MPI(int, Session_iflush_buffer, (MPI_Session session, MPI_Request* request)) {
  return enter_session(session, [&](Session& s) { iflush(nullptr, s.bsend, request); });
}

}  // namespace rmq::mpi
