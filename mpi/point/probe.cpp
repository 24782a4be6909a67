// SPDX-License-Identifier: BSD-3-Clause
// Chapter 3.8: probes, and messages that are received by handle.
#include "engine/message/point.hpp"
#include "mpi/define.hpp"

namespace rmq::mpi {
namespace {

Match pattern(const Comm& c, int source, int tag) {
  return {c.recv_context, source, tag};
}

Rank peer(const Comm& c, int source) {
  return source == MPI_ANY_SOURCE ? kNoRank : c.world_of(source);
}

/// Nothing is here: a sender that is lost will not bring it.
void check_peer(Comm& c, int source) {
  ft::check_not_revoked(c);
  const Rank from = peer(c, source);
  if (from == kNoRank) return ft::check_acknowledged(c, MPIX_ERR_PROC_FAILED);
  if (!runtime().device->peer_error(from).empty()) fail_call(lost_class(from), lost_text(from));
}

/// Waits for a message; fails when none will come.
void await(Comm& c, int source, int tag, adi::Envelope& e) {
  adi::Device& device = *runtime().device;
  if (source != MPI_ANY_SOURCE || !runtime().ft) {
    if (!device.MPID_Probe(pattern(c, source, tag), peer(c, source), e)) check_peer(c, source);
    return;
  }
  while (!device.MPID_Iprobe(pattern(c, source, tag), e)) {
    check_peer(c, source);
    device.MPID_Poll(true);
  }
}

void describe(MPI_Status* status, const adi::Envelope& e) {
  set_status(status, e.source, e.tag, e.bytes);
}

MPI_Message hold(Comm& c, Request* message) {
  retain(c);
  const MPI_Message handle = handle_of(message);
  runtime().messages.emplace_back(handle, &c);
  return handle;
}

/// The communicator of a message that was probed, which then is the caller's to receive.
Comm* take(MPI_Message handle) {
  auto& all = runtime().messages;
  for (auto it = all.begin(); it != all.end(); ++it) {
    if (it->first != handle) continue;
    Comm* c = it->second;
    all.erase(it);
    return c;
  }
  detail::bad_handle(MPI_ERR_REQUEST, handle, "message");
}

/// Starts to receive the message; the request keeps its communicator.
Request* start(const Buffer& b, MPI_Message& message) {
  Request* kept = find_request(message);
  Comm* c = take(message);
  Request* r = new_request(RequestKind::recv, *c);
  release(c);
  attach(r, b);
  mind_end(r, b);
  r->peer = kept->peer;
  r->match = kept->match;
  message = MPI_MESSAGE_NULL;
  runtime().device->MPID_Imrecv(r, kept);
  return r;
}

inline int mrecv(void* buf, MPI_Count count, MPI_Datatype datatype, MPI_Message* message, MPI_Status* status,
                 Function function) {
  return enter(
      [&] {
        const Buffer b = buffer_arg(buf, count, datatype);
        if (*out(message, "message") == MPI_MESSAGE_NO_PROC) {
          *message = MPI_MESSAGE_NULL;
          return set_proc_null_status(status);
        }
        settle(start(b, *message), status);
      },
      function);
}

inline int imrecv(void* buf, MPI_Count count, MPI_Datatype datatype, MPI_Message* message, MPI_Request* request,
                  Function function) {
  return enter(
      [&] {
        const Buffer b = buffer_arg(buf, count, datatype);
        out(request, "request");
        if (*out(message, "message") == MPI_MESSAGE_NO_PROC) {
          *message = MPI_MESSAGE_NULL;
          *request = new_finished_request(RequestKind::recv, *runtime().self);
          return;
        }
        *request = handle_of(start(b, *message));
      },
      function);
}

}  // namespace

RMQ_MPI(int, Probe, (int source, int tag, MPI_Comm comm, MPI_Status* status)) {
  return enter(comm, [&](Comm& c) {
    source_arg(c, source), recv_tag_arg(tag);
    if (source == MPI_PROC_NULL) return set_proc_null_status(status);
    adi::Envelope e;
    await(c, source, tag, e);
    describe(status, e);
  });
}

RMQ_MPI(int, Iprobe, (int source, int tag, MPI_Comm comm, int* flag, MPI_Status* status)) {
  return enter(comm, [&](Comm& c) {
    source_arg(c, source), recv_tag_arg(tag);
    *out(flag, "flag") = 1;
    if (source == MPI_PROC_NULL) return set_proc_null_status(status);
    adi::Envelope e;
    *flag = runtime().device->MPID_Iprobe(pattern(c, source, tag), e);
    *flag ? describe(status, e) : check_peer(c, source);
  });
}

RMQ_MPI(int, Mprobe, (int source, int tag, MPI_Comm comm, MPI_Message* message, MPI_Status* status)) {
  return enter(comm, [&](Comm& c) {
    source_arg(c, source), recv_tag_arg(tag);
    *out(message, "message") = MPI_MESSAGE_NO_PROC;
    if (source == MPI_PROC_NULL) return set_proc_null_status(status);
    adi::Envelope e;
    await(c, source, tag, e);
    Request* const found = runtime().device->MPID_Improbe(pattern(c, source, tag), e);  // nobody polls in between
    *message = hold(c, found);
    describe(status, e);
  });
}

RMQ_MPI(int, Improbe, (int source, int tag, MPI_Comm comm, int* flag, MPI_Message* message, MPI_Status* status)) {
  return enter(comm, [&](Comm& c) {
    source_arg(c, source), recv_tag_arg(tag);
    *out(flag, "flag") = 1;
    *out(message, "message") = MPI_MESSAGE_NO_PROC;
    if (source == MPI_PROC_NULL) return set_proc_null_status(status);
    adi::Envelope e;
    Request* found = runtime().device->MPID_Improbe(pattern(c, source, tag), e);
    *flag = found != nullptr;
    *message = found ? hold(c, found) : MPI_MESSAGE_NULL;
    found ? describe(status, e) : check_peer(c, source);
  });
}

RMQ_MPI(int, Mrecv, (void* buf, int count, MPI_Datatype datatype, MPI_Message* message, MPI_Status* status)) {
  return mrecv(buf, count, datatype, message, status, __func__);
}
RMQ_MPI(int, Mrecv_c, (void* buf, MPI_Count count, MPI_Datatype datatype, MPI_Message* message, MPI_Status* status)) {
  return mrecv(buf, count, datatype, message, status, __func__);
}
RMQ_MPI(int, Imrecv, (void* buf, int count, MPI_Datatype datatype, MPI_Message* message, MPI_Request* request)) {
  return imrecv(buf, count, datatype, message, request, __func__);
}
RMQ_MPI(int, Imrecv_c,
        (void* buf, MPI_Count count, MPI_Datatype datatype, MPI_Message* message, MPI_Request* request)) {
  return imrecv(buf, count, datatype, message, request, __func__);
}

}  // namespace rmq::mpi
