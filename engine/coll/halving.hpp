// SPDX-License-Identifier: BSD-3-Clause
// Reduce-scatter by recursive halving of the vector, and its mirror image: R. Rabenseifner, "Optimization of collective
// reduction operations", 2004. Neighbours first, then neighbours of pairs, and so on: where hosts have the ranks in
// blocks, long exchanges stay inside of them, and each host sends the vector only once or twice. Operands are grouped
// as doubling does it.
//
// p2 is the largest power of two of ranks. The first 2 (p - p2) ranks fold in pairs: the even one gives its vector to
// the odd one and waits for the result. The others are the group; the vector has p2 blocks, of which each member ends
// with one.
#pragma once

#include "engine/coll/combine.hpp"

namespace rmq::mpi::coll {

/// Which ranks are left when their number is folded to a power of two.
class Fold {
 public:
  Fold(int ranks, int rank);
  int members() const { return members_; }
  /// My place in the group; -1 when my vector has gone to my neighbour.
  int member() const { return member_; }
  bool takes_neighbour() const { return folded_ && member_ >= 0; }
  int rank_of(int member) const { return member < pairs_ ? 2 * member + 1 : member + pairs_; }

 private:
  int members_;
  int pairs_;
  bool folded_;
  int member_;
};

class Halving {
 public:
  Halving(Steps& s, const Reduction& r);
  /// Combines everybody's `in`; afterwards my block of `vector` is the result, the rest is spoilt. They may be the
  /// same.
  void reduce_scatter(const void* in, void* vector);
  /// Everybody's combined block, everywhere.
  void allgather(void* vector);
  /// Everybody's combined block at the root.
  void gather(void* vector, int root);

 private:
  int block_of(int member) const;
  MPI_Count start(int block) const;
  Buffer blocks(const void* vector, int first, int last) const;  // [first, last)

  Steps& s_;
  const Reduction& r_;
  Fold fold_;
  Vectors spare_;
};

}  // namespace rmq::mpi::coll
