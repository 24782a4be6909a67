// SPDX-License-Identifier: BSD-3-Clause
// The reducing collectives on inter-communicators: each group reduces its own data to its leader, the leaders talk.
#include "engine/coll/combine.hpp"
#include "engine/coll/inter.hpp"
#include "engine/coll/stages.hpp"

namespace rmq::mpi::coll::inter {
namespace {

/// Reduces the local group's data to `out` at its leader.
void gather_up(Steps& s, const void* in, void* out, const Reduction& r) {
  Steps local(s, *s.comm().local);
  reduce_to(local, r, in, out, 0);
  s.note(local.error());
}

}  // namespace

int reduce(Comm& comm, const void* in, void* out, const Reduction& r, int root) {
  Steps s(comm);
  if (root == MPI_PROC_NULL) return MPI_SUCCESS;
  if (root == MPI_ROOT) {
    s.recv(0, buffer_of(r, out));
    return s.error();
  }
  Vectors sum(s.rank() == 0 ? r.count : 0, r.type);
  gather_up(s, in, sum.origin(), r);
  if (s.rank() == 0) s.send(root, sum.buffer());
  return s.error();
}

int allreduce(Comm& comm, const void* in, void* out, const Reduction& r) {
  Steps s(comm);
  Vectors sum(s.rank() == 0 ? r.count : 0, r.type);
  gather_up(s, in, sum.origin(), r);
  if (s.rank() == 0) s.exchange(0, sum.buffer(), 0, buffer_of(r, out));
  Steps local(s, *s.comm().local);
  bcast_to(local, buffer_of(r, out), 0);
  return local.error();
}

int reduce_scatter(Comm& comm, const void* in, void* out, const Reduction& r, const Numbers& counts) {
  Steps s(comm);
  // Starts of the blocks, as Blocks wants them.
  const auto n = static_cast<std::size_t>(s.size());
  ScratchArray<MPI_Count> count(n), start(n);
  MPI_Count total = 0;
  for (std::size_t i = 0; i < n; ++i) {
    count[i] = counts[static_cast<int>(i)];
    start[i] = total;
    total += count[i];
  }
  Vectors memory(s.rank() == 0 ? r.count : 0, r.type, 2);
  const Buffer ours = memory.buffer(0), theirs = memory.buffer(1);
  gather_up(s, in, ours.data, r);
  if (s.rank() == 0) s.exchange(0, ours, 0, theirs);
  Steps local(s, *s.comm().local);
  const Blocks blocks = Blocks::spread(theirs.data, Numbers(count.data()), Numbers(start.data()), r.type);
  scatter_linear(local, blocks, {out, count[static_cast<std::size_t>(s.rank())], &r.type}, 0);
  return local.error();
}

}  // namespace rmq::mpi::coll::inter
