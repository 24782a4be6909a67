// Pieces of collectives that others are made of. They run in a collective that has begun; errors are noted in it.
#pragma once

#include <vector>

#include "mpi/coll/coll.hpp"
#include "mpi/coll/steps.hpp"

namespace rmq::mpi::coll {

/// Whether a collective of two levels is wished, or nothing is; and these are not a part of one.
inline bool may_go_by_hosts(const Steps& s, Algorithm wish) {
  return !s.is_part() && (wish == Algorithm::automatic || wish == Algorithm::board || wish == Algorithm::hosts);
}

void barrier_to(Steps& s);
/// This rank's block is `own`; recv is uniform (Allgather) or spread (Allgatherv).
void allgather_to(Steps& s, const Buffer& own, const Blocks& recv);
/// Blocks of one size, by the algorithm that fits.
void gather_to(Steps& s, const Buffer& send, const Blocks& recv, int root);

/// Broadcast by the algorithm that fits.
void bcast_to(Steps& s, const Buffer& data, int root);
/// The root sends to all.
void bcast_flat(Steps& s, const Buffer& data, int root);

/// Reduction by the algorithm that fits. `in` may equal `out`; elsewhere than at the root `out` is not used.
void reduce_to(Steps& s, const Reduction& r, const void* in, void* out, int root);
/// How the operands of a reduction are grouped; they keep the order of ranks. With rounding the bits depend on it, so
/// algorithms that stand in for each other group alike.
enum class Grouping { binomial, doubling };
/// Combines all operands, one of each rank, which are spoilt; where the result is.
Buffer combine_pairs(const Reduction& r, std::vector<Buffer>& operands, Grouping grouping);
/// All send to the root.
void reduce_flat(Steps& s, const Reduction& r, const void* in, void* out, int root, Grouping grouping);

/// The root's part of it. `sends`, which is not yet finished, reads `in`; nullptr: nobody does.
void reduce_here(Steps& s, const Reduction& r, const void* in, void* out, Grouping grouping, Batch* sends);

void allreduce_to(Steps& s, const Reduction& r, const void* in, void* out);

/// Everybody's block from `send` to the root's `recv`, straight. In place at the root: its block is there.
void gather_linear(Steps& s, const Buffer& send, const Blocks& recv, int root);
void scatter_linear(Steps& s, const Blocks& send, const Buffer& recv, int root);

}  // namespace rmq::mpi::coll
