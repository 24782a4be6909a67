// SPDX-License-Identifier: BSD-3-Clause
// Filling in device requests: shared by the point-to-point chapter and internal transfers.
#pragma once

#include "engine/message/transfer.hpp"
#include "engine/object/contexts.hpp"
#include "engine/object/datatypes.hpp"
#include "engine/object/runtime.hpp"

namespace rmq::mpi {

inline void attach(Request* r, const Buffer& b) {
  r->view = view_of(*b.type, b.data, b.count);
  if (r->view.layout) r->layout = b.type->layout;  // outlives MPI_Type_free
}

inline Match send_match(const Comm& c, int tag, std::uint32_t offset = 0) {
  return {c.context + offset, c.rank, tag};
}

/// `dest` is a rank, not MPI_PROC_NULL.
inline void prepare_send(Request* r, const Comm& c, const Buffer& b, int dest, int tag, SendMode mode,
                         std::uint32_t offset = 0) {
  r->peer = c.world_of(dest);
  r->match = send_match(c, tag, offset);
  r->mode = mode;
  attach(r, b);
}

/// `source` is a rank or MPI_ANY_SOURCE.
inline void prepare_recv(Request* r, const Comm& c, const Buffer& b, int source, int tag, std::uint32_t offset = 0) {
  static_assert(MPI_ANY_SOURCE == kAnySource && MPI_ANY_TAG == kAnyTag);
  r->peer = source == MPI_ANY_SOURCE ? kNoRank : c.world_of(source);
  r->match = {c.recv_context + offset, source, tag};
  attach(r, b);
}

/// Waits for a request that is nobody else's and frees it; what became of it.
inline Status wait_and_free(adi::Device& device, Request* r) {
  device.MPID_Wait(r);
  const Status status = r->status;
  device.MPID_Request_free(r);
  return status;
}

}  // namespace rmq::mpi
