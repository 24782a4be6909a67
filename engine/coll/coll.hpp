// SPDX-License-Identifier: BSD-3-Clause
// The blocking collectives on internal types; the MPI functions (api_*.cpp) check arguments and call these. All run
// under the caller's Entry, on intra- and inter-communicators unless said otherwise, and return an MPI error class.
//
// In place: a send buffer whose address is MPI_IN_PLACE, where MPI allows it. Arguments that MPI calls not significant
// on this rank may hold anything with a valid type.
#pragma once

#include "engine/coll/blocks.hpp"

namespace rmq::mpi::coll {

/// What a reduction does to each of `count` elements.
struct Reduction {
  const Op& op;
  Datatype& type;
  MPI_Count count;
  adi::Device& device;  // given away around a function of the program
};

int barrier(Comm& comm);
int bcast(Comm& comm, const Buffer& data, int root);

/// gather: every rank sends the same number of bytes, recv is uniform. gatherv: recv may be spread.
int gather(Comm& comm, const Buffer& send, const Blocks& recv, int root);
int gatherv(Comm& comm, const Buffer& send, const Blocks& recv, int root);
int scatter(Comm& comm, const Blocks& send, const Buffer& recv, int root);
int scatterv(Comm& comm, const Blocks& send, const Buffer& recv, int root);
/// recv uniform (Allgather) or spread (Allgatherv).
int allgather(Comm& comm, const Buffer& send, const Blocks& recv);
/// Both uniform (Alltoall), spread (Alltoallv) or typed (Alltoallw).
int alltoall(Comm& comm, const Blocks& send, const Blocks& recv);

/// `in` and `out` are addresses of r.count elements of r.type; out is significant at the root only.
int reduce(Comm& comm, const void* in, void* out, const Reduction& r, int root);
int allreduce(Comm& comm, const void* in, void* out, const Reduction& r);
/// Intra-communicators only.
int scan(Comm& comm, const void* in, void* out, const Reduction& r);
int exscan(Comm& comm, const void* in, void* out, const Reduction& r);
/// r.count is the sum of counts; rank i gets counts[i] elements.
int reduce_scatter(Comm& comm, const void* in, void* out, const Reduction& r, const Numbers& counts);

}  // namespace rmq::mpi::coll
