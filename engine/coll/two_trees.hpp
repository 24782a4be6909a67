// SPDX-License-Identifier: BSD-3-Clause
// Two binary trees over the same ranks, none of which stands above others in both: P. Sanders, J. Speck, J. Träff,
// "Two-tree algorithms for full bandwidth broadcast, reduction and scan", 2009. Data that goes half by the one and half
// by the other passes each rank once, in and out, whatever their number.
//
// Rank 0 stands above the tops of both. The others, 1 to n, are the first tree in their order: a rank that is an odd
// multiple of 2^k is k steps above the leaves, 2^(k-1) away from the ranks below it. Where n is no power of two less
// one, ranks beyond n are missing, and what would be below them hangs a step higher. The second tree is the first one
// with ranks in the opposite order, or moved by one, so that even numbers take the places of odd ones, which are
// leaves.
#pragma once

#include <array>
#include <bit>

namespace rmq::mpi::coll {

class TwoTrees {
 public:
  static constexpr int kNone = -1;
  using Children = std::array<int, 2>;  // kNone: there is none

  explicit TwoTrees(int ranks) : n_(ranks - 1) {}

  /// Of a rank but 0, in tree 0 or 1.
  int parent(int tree, int rank) const {
    int at = place(tree, rank);
    if (at == top()) return 0;
    do {
      const int step = at & -at;
      at = at & (2 * step) ? at - step : at + step;
    } while (at > n_);
    return rank_at(tree, at);
  }
  Children children(int tree, int rank) const {
    Children below{kNone, kNone};
    if (n_ == 0) return below;
    if (rank == 0) return {rank_at(tree, top()), kNone};
    const int at = place(tree, rank), step = (at & -at) / 2;
    if (step == 0) return below;
    below[0] = rank_at(tree, at - step);
    int right = at + step;
    for (int s = step; right > n_ && s > 1;) right -= s /= 2;
    if (right <= n_) below[1] = rank_at(tree, right);
    return below;
  }

 private:
  int top() const { return static_cast<int>(std::bit_floor(static_cast<unsigned>(n_))); }
  int place(int tree, int rank) const {
    if (tree == 0) return rank;
    if (n_ % 2 == 0) return n_ + 1 - rank;
    return rank > 1 ? rank - 1 : n_;
  }
  int rank_at(int tree, int place) const {
    if (tree == 0) return place;
    if (n_ % 2 == 0) return n_ + 1 - place;
    return place < n_ ? place + 1 : 1;
  }

  int n_;
};

}  // namespace rmq::mpi::coll
