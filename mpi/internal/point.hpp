// The arguments of point-to-point calls, checked, and what the blocking and the non-blocking forms share.
#pragma once

#include "mpi/internal/bsend.hpp"
#include "mpi/internal/p2p.hpp"
#include "mpi/internal/requests.hpp"

namespace rmq::mpi {

struct SendArgs {
  Buffer data;
  int dest, tag;
  bool to_nobody() const { return dest == MPI_PROC_NULL; }
};
struct RecvArgs {
  Buffer data;
  int source, tag;
  bool from_nobody() const { return source == MPI_PROC_NULL; }
};

/// Of a message to or from MPI_PROC_NULL only the count is looked at, as MPICH does.
inline Buffer unused_buffer(MPI_Count count) {
  count_arg(count);
  return {nullptr, 0, find_datatype(MPI_BYTE)};
}

[[gnu::always_inline]] inline SendArgs send_args(const Comm& c, const void* buf, MPI_Count count, MPI_Datatype type,
                                                 int dest, int tag) {
  const bool nobody = dest == MPI_PROC_NULL;
  const Buffer b = nobody ? unused_buffer(count) : buffer_arg(buf, count, type);
  return {b, dest_arg(c, dest), tag_arg(tag)};
}
[[gnu::always_inline]] inline RecvArgs recv_args(const Comm& c, void* buf, MPI_Count count, MPI_Datatype type,
                                                 int source, int tag) {
  const bool nobody = source == MPI_PROC_NULL;
  const Buffer b = nobody ? unused_buffer(count) : buffer_arg(buf, count, type);
  return {b, source_arg(c, source), recv_tag_arg(tag)};
}

/// Waits for a request of this call alone and gives it back; a receive fills the status. Throws when it failed.
void settle(Request* r, MPI_Status* status);
/// Sends in a mode other than buffered, with a request; returns when the buffer may be used again. Not to
/// MPI_PROC_NULL.
void send_by_request(Comm& c, const SendArgs& a, SendMode mode);
/// The same; a short message that can leave at once goes without a request.
inline void send_blocking(Comm& c, const SendArgs& a, SendMode mode) {
  if (mode == SendMode::standard && a.data.type->dense) [[likely]] {
    const DataView view = view_of(*a.data.type, a.data.data, a.data.count);
    adi::Device& device = *runtime().device;
    if (device.MPID_Send_now(c.world_of(a.dest), send_match(c, a.tag), view.base, view.bytes)) [[likely]]
      return;
  }
  send_by_request(c, a, mode);
}
/// Receives; MPI_PROC_NULL gives an empty message.
void recv_blocking(Comm& c, const RecvArgs& a, MPI_Status* status);
/// Starts; the request is complete at once for MPI_PROC_NULL and for buffered sends.
inline MPI_Request isend(Comm& c, const SendArgs& a, SendMode mode) {
  if (a.to_nobody()) [[unlikely]]
    return new_finished_request(RequestKind::send, c);
  if (mode == SendMode::buffered) return start_buffered(c, a.data, a.dest, a.tag);
  Request* r = new_request(RequestKind::send, c);
  prepare_send(r, c, a.data, a.dest, a.tag, mode);
  const MPI_Request handle = handle_of(r);
  runtime().device->MPID_Isend(r);
  return handle;
}
inline MPI_Request irecv(Comm& c, const RecvArgs& a) {
  if (a.from_nobody()) [[unlikely]]
    return new_finished_request(RequestKind::recv, c);
  Request* r = new_request(RequestKind::recv, c);
  prepare_recv(r, c, a.data, a.source, a.tag);
  const MPI_Request handle = handle_of(r);
  runtime().device->MPID_Irecv(r);
  return handle;
}

}  // namespace rmq::mpi
