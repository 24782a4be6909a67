// SPDX-License-Identifier: BSD-3-Clause
// Pieces of collectives that others are made of. They run in a collective that has begun; errors are noted in it.
#pragma once

#include <vector>

#include "engine/coll/coll.hpp"
#include "engine/coll/levels.hpp"
#include "engine/coll/plan.hpp"
#include "engine/coll/steps.hpp"

namespace rmq::mpi::coll {

/// Whether all ranks are on one host.
inline bool are_together(const Steps& s) {
  if (s.comm().is_inter()) return false;
  const Levels& l = levels_of(s.comm());
  return s.is_part() ? s.is_part(l.mine) : l.mine.size() == s.size();
}

/// Of the algorithms that can serve a call: rules.hpp. `bytes` are what choice.def says of the collective.
inline Algorithm choose(const Steps& s, Collective what, std::uint64_t bytes, Set possible) {
  const auto fresh = [&] {
    const Choice& choice = s.terms().choice();
    const Traits traits = traits_of(s.comm());
    return choice.choose({what, s.size(), bytes, traits.crowded, traits.shares && are_together(s)}, possible);
  };
  if (Task* const task = Task::current(); task && task->plan()) [[unlikely]]
    return task->plan()->next(what, fresh);
  return fresh();
}

/// Whether a collective of two levels can be: its ranks lie on hosts like that, and are not a part of one.
inline bool has_levels(const Steps& s) {
  return !s.is_part() && levels_of(s.comm()).two;
}
/// That algorithm, if it can be.
constexpr Set hosts_if(bool possible) {
  return possible ? set_of(Algorithm::hosts) : 0;
}

void barrier_to(Steps& s);
/// This rank's block is `own`; recv is uniform (Allgather) or spread (Allgatherv).
void allgather_to(Steps& s, const Buffer& own, const Blocks& recv);
/// Blocks of one size, by the algorithm that fits.
void gather_to(Steps& s, const Buffer& send, const Blocks& recv, int root);

/// Broadcast by the algorithm that fits.
void bcast_to(Steps& s, const Buffer& data, int root);
/// In segments through two trees.
void bcast_trees(Steps& s, std::byte* data, std::uint64_t n, int root);
/// The root sends to all.
void bcast_flat(Steps& s, const Buffer& data, int root);

/// Reduction by the algorithm that fits. `in` may equal `out`; elsewhere than at the root `out` is not used.
void reduce_to(Steps& s, const Reduction& r, const void* in, void* out, int root);
/// How the operands of a reduction are grouped; they keep the order of ranks. With rounding the bits depend on it, so
/// algorithms that stand in for each other group alike.
enum class Grouping { binomial, doubling };
/// The rank whose operand comes first: where a tree stands on a root it counts from there, if it may.
inline int top_of(const Reduction& r, int root, Grouping grouping) {
  return grouping == Grouping::binomial && r.op.commutative ? root : 0;
}
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
