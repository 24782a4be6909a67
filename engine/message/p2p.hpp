// Filling in device requests: shared by the point-to-point chapter and internal transfers.
#pragma once

#include <vector>

#include "engine/message/transfer.hpp"
#include "engine/object/datatypes.hpp"
#include "engine/object/runtime.hpp"

namespace rmq::mpi {

/// What a communicator's collective traffic adds to its contexts, and what announcements and partitions of partitioned
/// messages do. Contexts without it are even.
inline constexpr std::uint32_t kCollective = 1, kAnnouncement = 1u << 30, kPartition = 1u << 31;

/// The contexts of all messages of communicators that have these.
inline std::vector<std::uint32_t> contexts_of(const std::vector<std::uint32_t>& own) {
  std::vector<std::uint32_t> all;
  for (const std::uint32_t one : own)
    for (const std::uint32_t offset : {0u, kCollective, kAnnouncement, kPartition}) all.push_back(one + offset);
  return all;
}

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
