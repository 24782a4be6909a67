// SPDX-License-Identifier: BSD-3-Clause
// Blocking and non-blocking transfers for collectives and other internal traffic: device requests without user handles.
// Everything here runs under the caller's Entry, in the communicator's collective context. Errors are MPI error classes
// (MPI_SUCCESS, MPI_ERR_TRUNCATE …); nothing here calls an error handler.
#pragma once

#include <cstddef>

#include "adi/device.hpp"
#include "engine/object/deaths.hpp"

namespace rmq::mpi {

/// The MPI function under way is a collective of this communicator, which all members have to call in the same order.
/// Fails when it has been revoked. `bytes`: what all have to agree on; `root`: -1 without.
inline void note_collective(Comm& c, std::uint64_t bytes = 0, int root = -1) {
  ft::check_not_revoked(c);
  const adi::Device& device = *runtime().device;
  c.called[c.calls++ % c.called.size()] = {device.call_name(), device.call_kind(), bytes, root};
}

/// Which function it is that the rank has called last on this communicator, of the collective ones.
inline std::uint32_t collective_kind(const Comm& comm) {
  return comm.called[(comm.calls - 1) % comm.called.size()].kind;
}

/// Tag of the next collective on this communicator; all members call collectives in the same order, so all get the
/// same.
int next_collective_tag(Comm& comm);

/// Tags from here on belong to persistent collectives, one to each, because those may be started in any order. Tags of
/// agreements of communicator making lie below.
inline constexpr std::uint32_t kRepeatedTags = 3u << 29;
/// Tag of the next persistent collective on this communicator.
int new_repeated_tag(Comm& comm);

/// Starts a send or receive to a rank of the communicator (of the remote group in an inter-communicator). The request
/// is given back by wait().
Request* start_send(Comm& comm, int to, int tag, const Buffer& data);
Request* start_recv(Comm& comm, int from, int tag, const Buffer& data);
/// A receive that combines what arrives into data by a predefined operation (the device's *join*), `parts` times.
Request* start_recv_join(Comm& comm, int from, int tag, const Buffer& data, ReduceOp op, int parts = 1);
/// Waits for a request of the device and frees it; the error.
int wait(adi::Device& device, Request* r);

int send(Comm& comm, int to, int tag, const Buffer& data);
int recv(Comm& comm, int from, int tag, const Buffer& data);
int send_recv(Comm& comm, int to, const Buffer& out, int from, const Buffer& in, int tag);

}  // namespace rmq::mpi
