// SPDX-License-Identifier: BSD-3-Clause
// Checks of the arguments that only collectives have. They throw a Failure, as those of engine/call/check.hpp, and need
// the device held.
#pragma once

#include <string>
#include <vector>

#include "engine/call/call.hpp"
#include "engine/coll/coll.hpp"

namespace rmq::mpi::coll {

/// How a rank takes part in a collective with a root.
struct Role {
  bool member;  // has a block or vector of its own to give to the root or to get from it
  bool root;    // has everybody's
};
/// In an inter-communicator the root has only everybody's, and the others of its group have nothing.
inline Role role_of(const Comm& c, int root) {
  if (c.is_inter()) return {root >= 0, root == MPI_ROOT};
  return {true, c.rank == root};
}

/// A buffer without a meaning: where MPI says that the arguments are not significant.
inline Buffer no_buffer() {
  return nothing();
}
inline Blocks no_blocks() {
  return Blocks::uniform(nullptr, 0, byte_type());
}

Reduction no_reduction();

// MPI_IN_PLACE where it has no meaning is an error only if there is data: without, an address may be anything.

/// A send buffer that may be MPI_IN_PLACE if `may`; count and type are not looked at then.
Buffer send_arg(const void* data, MPI_Count count, MPI_Datatype type, bool may);
/// A receive buffer, which may be MPI_IN_PLACE if `may`: only where the root keeps its own block of a scatter.
Buffer recv_arg(void* data, MPI_Count count, MPI_Datatype type, bool may = false);

/// Sees to it that `ranks` blocks of `count` elements together are no more than bytes_arg() lets pass.
void blocks_bytes_arg(const Datatype& type, MPI_Count count, int ranks, const char* name);

/// Equal blocks, `count` elements for each of `ranks` ranks, that are sent or received.
Blocks send_blocks_arg(const void* data, MPI_Count count, MPI_Datatype type, int ranks);
Blocks recv_blocks_arg(void* data, MPI_Count count, MPI_Datatype type, int ranks);

/// Counts for `ranks` ranks; their sum.
MPI_Count counts_arg(const Numbers& counts, bool null, int ranks, const char* name);

[[noreturn]] void refuse_in_place(const char* name);

/// Names of the parameters of one side of a v- or w-function.
struct SideNames {
  const char *data, *counts, *displacements, *type;
};
inline constexpr SideNames kSendNames{"sendbuf", "sendcounts", "sdispls", "sendtype"};
inline constexpr SideNames kRecvNames{"recvbuf", "recvcounts", "rdispls", "recvtype"};
inline constexpr SideNames kRootSendNames{"sendbuf", "sendcounts", "displs", "sendtype"};
inline constexpr SideNames kRootRecvNames{"recvbuf", "recvcounts", "displs", "recvtype"};

/// The type of `count` elements: MPI_DATATYPE_NULL will do where there are none.
inline const Datatype& type_arg_of(MPI_Count count, MPI_Datatype type, const char* name) {
  return count == 0 && type == MPI_DATATYPE_NULL ? byte_type() : committed_arg(type, name);
}

/// Blocks of one type that the caller describes by counts and displacements (in elements) for `ranks` ranks.
template <class Count, class Displacement>
Blocks spread_arg(const void* data, const Count* counts, const Displacement* displacements, MPI_Datatype type,
                  int ranks, const SideNames& names) {
  const MPI_Count total = counts_arg(Numbers(counts), !counts, ranks, names.counts);
  const Datatype& t = type_arg_of(total, type, names.type);
  bytes_arg(t, total, names.counts);
  if (!displacements && total > 0) detail::null_argument(MPI_ERR_ARG, names.displacements);
  if (total == 0) return Blocks::spread(nullptr, Numbers(counts), Numbers(0, 0), t);
  if (is_in_place(data)) refuse_in_place(names.data);
  if (!data && t.predefined) detail::null_argument(MPI_ERR_BUFFER, names.data);
  return Blocks::spread(data, Numbers(counts), Numbers(displacements), t);
}

/// MPI forbids that a rank's own data is sent from where it is received; MPI_ERR_BUFFER if the first bytes of both are
/// the same.
void refuse_alias(const Buffer& send, const Buffer& recv);

/// Everything a reduction needs to know, checked: op must be defined for the type.
Reduction reduction_arg(MPI_Count count, MPI_Datatype type, MPI_Op op, const char* count_name = "count");
/// The types of `ranks` blocks, each of its own; for blocks that are no `significant(rank)` any will do.
template <class Significant>
std::vector<const Datatype*> types_arg(const Numbers& counts, const MPI_Datatype* handles, int ranks,
                                       const SideNames& names, Significant&& significant) {
  std::vector<const Datatype*> types;
  std::uint64_t total = 0;
  for (int i = 0; i < ranks; ++i) {
    types.push_back(significant(i) ? &type_arg_of(counts[i], handles[i], names.type) : &byte_type());
    total += bytes_arg(*types.back(), counts[i], names.counts);
    if (total >> 63 != 0) detail::too_much(counts[i], names.counts);
  }
  return types;
}

/// The two buffers of a reduction: `in` may be MPI_IN_PLACE if `in_place`; `out` is only looked at if `receives`.
void check_reduction_buffers(const void* in, const void* out, const Reduction& r, bool in_place, bool receives);

}  // namespace rmq::mpi::coll
