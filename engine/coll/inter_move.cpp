// SPDX-License-Identifier: BSD-3-Clause
// Barrier and the collectives that only move data, on inter-communicators.
#include "engine/coll/inter.hpp"
#include "engine/coll/scratch.hpp"
#include "engine/coll/stages.hpp"

namespace rmq::mpi::coll::inter {
namespace {

/// Broadcast in the local group from its leader, who passes on whether all went well so far.
void spread(Steps& s, const Buffer& data) {
  Steps local(s, *s.comm().local);
  bcast_to(local, data, 0);
  s.note(local.error());
}

}  // namespace

int barrier(Comm& comm) {
  Steps s(comm);
  Steps local(s, *s.comm().local);
  barrier_to(local);
  s.note(local.error());  // which the other side is told …
  if (s.rank() == 0) s.exchange(0, nothing(), 0, nothing());
  local.note(s.error());  // … and what that says all of this one
  barrier_to(local);
  s.note(local.error());
  return s.error();
}

int bcast(Comm& comm, const Buffer& data, int root) {
  Steps s(comm);
  if (root == MPI_PROC_NULL) return MPI_SUCCESS;
  if (root == MPI_ROOT) {
    s.send(0, data);
    return s.error();
  }
  if (s.rank() == 0) s.recv(root, data);
  spread(s, data);
  return s.error();
}

int gather(Comm& comm, const Buffer& send, const Blocks& recv, int root) {
  Steps s(comm);
  if (root == MPI_PROC_NULL) return MPI_SUCCESS;
  if (root != MPI_ROOT) {
    s.send(root, send);
    return s.error();
  }
  Batch in(s);
  for (int rank = 0; rank < comm.remote_size(); ++rank) in.recv(rank, recv[rank]);
  in.finish();
  return s.error();
}

int scatter(Comm& comm, const Blocks& send, const Buffer& recv, int root) {
  Steps s(comm);
  if (root == MPI_PROC_NULL) return MPI_SUCCESS;
  if (root != MPI_ROOT) {
    s.recv(root, recv);
    return s.error();
  }
  Batch out(s);
  for (int rank = 0; rank < comm.remote_size(); ++rank) out.send(rank, send[rank]);
  out.finish();
  return s.error();
}

int allgather(Comm& comm, const Buffer& send, const Blocks& recv) {
  Steps s(comm);
  const int n = comm.remote_size();
  const std::uint64_t total = recv.total_bytes(n);
  Scratch packed(total);
  Batch batch(s);
  batch.send(0, send);
  if (s.rank() == 0) {
    std::uint64_t at = 0;
    for (int rank = 0; rank < n; at += recv.bytes(rank++)) batch.recv(rank, raw(packed.data() + at, recv.bytes(rank)));
  }
  batch.finish();
  spread(s, raw(packed.data(), total));
  if (s.error() != MPI_SUCCESS) return s.error();
  std::uint64_t at = 0;
  for (int rank = 0; rank < n; ++rank) at += unpack_at(recv[rank], packed.data() + at);
  return MPI_SUCCESS;
}

int alltoall(Comm& comm, const Blocks& send, const Blocks& recv) {
  Steps s(comm);
  const int n = comm.remote_size();
  Batch batch(s);
  // Each rank begins with another one of the other group.
  for (int i = 0; i < n; ++i) {
    const int rank = (s.rank() + i) % n;
    if (send.bytes(rank) > 0) batch.send(rank, send[rank]);
  }
  for (int i = 0; i < n; ++i) {
    const int rank = (s.rank() + i) % n;
    if (recv.bytes(rank) > 0) batch.recv(rank, recv[rank]);
  }
  batch.finish();
  return s.error();
}

}  // namespace rmq::mpi::coll::inter
