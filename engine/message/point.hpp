// SPDX-License-Identifier: BSD-3-Clause
// The arguments of point-to-point calls, checked, and what the blocking and the non-blocking forms share.
#pragma once

#include <climits>

#include "engine/message/bsend.hpp"
#include "engine/message/p2p.hpp"
#include "engine/message/requests.hpp"
#include "engine/object/deaths.hpp"

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
  ft::check_not_revoked(c);
  const bool nobody = dest == MPI_PROC_NULL;
  const Buffer b = nobody ? unused_buffer(count) : buffer_arg(buf, count, type);
  return {b, dest_arg(c, dest), tag_arg(tag)};
}
[[gnu::always_inline]] inline RecvArgs recv_args(const Comm& c, void* buf, MPI_Count count, MPI_Datatype type,
                                                 int source, int tag) {
  ft::check_not_revoked(c);
  const bool nobody = source == MPI_PROC_NULL;
  const Buffer b = nobody ? unused_buffer(count) : buffer_arg(buf, count, type);
  return {b, source_arg(c, source), recv_tag_arg(tag)};
}

/// For Request::on_complete of a receive that has its layout: a message that ends inside of a predefined element was
/// not sent with a type like the receive's, and fails.
void check_end(Request* r);
/// Of types without gaps too little can be known for that: MPI_Get_count tells.
inline void mind_end(Request* r, const Buffer& b) {
  if (b.type->dense) [[likely]]
    return;
  r->layout = b.type->layout;
  r->on_complete = check_end;
}
/// prepare_recv() for a receive of the program's.
inline void prepare_user_recv(Request* r, const Comm& c, const RecvArgs& a) {
  prepare_recv(r, c, a.data, a.source, a.tag);
  mind_end(r, a.data);
}

/// Waits for a request of this call alone and gives it back; a receive fills the status. Throws when it failed.
void settle(Request* r, MPI_Status* status);
/// Sends in a mode other than buffered, with a request; returns when the buffer may be used again. Not to
/// MPI_PROC_NULL.
void send_by_request(Comm& c, const SendArgs& a, SendMode mode);
/// A short message of a type without gaps that can leave at once goes without a request; false: it cannot.
[[gnu::always_inline]] inline bool send_now(const Comm& c, const SendArgs& a) {
  const DataView view = view_of(*a.data.type, a.data.data, a.data.count);
  return runtime().device->send_now(c.world_of(a.dest), send_match(c, a.tag), view.base, view.bytes);
}
inline void send_blocking(Comm& c, const SendArgs& a, SendMode mode) {
  if (mode == SendMode::standard && a.data.type->dense && send_now(c, a)) [[likely]]
    return;
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
[[gnu::always_inline]] inline MPI_Request irecv(Comm& c, const RecvArgs& a) {
  if (a.from_nobody()) [[unlikely]]
    return new_finished_request(RequestKind::recv, c);
  Request* r = new_request(RequestKind::recv, c);
  prepare_user_recv(r, c, a);
  const MPI_Request handle = handle_of(r);
  runtime().device->MPID_Irecv(r);
  return handle;
}

// ---- the short way: without the frame of call.hpp ----

/// Calls that do not wait do without checks one by one, lock and full record: where anything is unusual, nothing is
/// done, and `in_frame()` takes care of it, or says what is wrong. `use(comm, type)` does the work, of `count` elements
/// of a predefined type without gaps; false: it cannot.
template <class Use, class InFrame>
[[gnu::always_inline]] inline int short_way(const void* buf, MPI_Count count, MPI_Datatype type, int peer, int tag,
                                            MPI_Comm comm, const Function& function, Use&& use, InFrame&& in_frame) {
  Runtime& rt = runtime();
  if (!rt.is_active() || !rt.device->needs_no_entry()) [[unlikely]]
    return in_frame();
  Comm* const c = comm == rt.world_handle ? rt.world : rt.comms.find(comm);
  const Datatype* const t = builtin_types[static_cast<unsigned>(type) & 0xffu];
  if (c == nullptr || t == nullptr || t->handle != type || !t->dense) [[unlikely]]
    return in_frame();
  if (static_cast<std::uint64_t>(count) > INT_MAX || (is_odd_buffer(buf) && count != 0)) [[unlikely]]
    return in_frame();
  if (static_cast<unsigned>(peer) >= static_cast<unsigned>(c->remote_size()) ||
      static_cast<unsigned>(tag) > static_cast<unsigned>(kTagMax)) [[unlikely]]
    return in_frame();
  bool done = false;
  try {
    const adi::Device::Passage passage(*rt.device, function, function.id);
    done = use(*c, *t);
  } catch (...) {  // memory may run out
    return detail::raise_caught(comm, function);
  }
  return done ? MPI_SUCCESS : in_frame();
}

/// `use` of a send: false where the message cannot leave at once.
[[gnu::always_inline]] inline bool isend_now(Comm& c, const SendArgs& a, MPI_Request& handle) {
  adi::Device& device = *runtime().device;
  if (device.pool().next_free() >= (1u << kRequestIndexBits)) [[unlikely]]
    return false;  // no request is at hand, or none that a handle can name
  const DataView view = view_of(*a.data.type, a.data.data, a.data.count);
  Request* const r = device.isend_now(c.world_of(a.dest), send_match(c, a.tag), view.base, view.bytes);
  if (r == nullptr) [[unlikely]]
    return false;
  r->user = &c;
  retain(c);
  handle = handle_of(r);
  return true;
}

}  // namespace rmq::mpi
