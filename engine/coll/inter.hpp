// SPDX-License-Identifier: BSD-3-Clause
// The collectives on inter-communicators (MPI-4.0, section 6.2.3): data moves between the groups. The simplest
// algorithms that do it: messages straight between the groups where each rank's block is its own, and through the first
// rank of each group (the leader) where a group acts as one. Called by the functions of coll.hpp, whose arguments they
// take; nothing is in place.
#pragma once

#include "engine/coll/coll.hpp"

namespace rmq::mpi::coll::inter {

int barrier(Comm& comm);
int bcast(Comm& comm, const Buffer& data, int root);
int gather(Comm& comm, const Buffer& send, const Blocks& recv, int root);
int scatter(Comm& comm, const Blocks& send, const Buffer& recv, int root);
int allgather(Comm& comm, const Buffer& send, const Blocks& recv);
int alltoall(Comm& comm, const Blocks& send, const Blocks& recv);
int reduce(Comm& comm, const void* in, void* out, const Reduction& r, int root);
int allreduce(Comm& comm, const void* in, void* out, const Reduction& r);
int reduce_scatter(Comm& comm, const void* in, void* out, const Reduction& r, const Numbers& counts);

}  // namespace rmq::mpi::coll::inter
