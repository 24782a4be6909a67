// SPDX-License-Identifier: BSD-3-Clause
// The binomial tree over p ranks, counted from the root on, in which each rank stands above a run of neighbours: the
// i-th rank has its children at i + 1, i + 2, i + 4 … with runs of 1, 2, 4 … ranks.
#pragma once

#include <algorithm>
#include <bit>

namespace rmq::mpi::coll {

class Subtree {
 public:
  Subtree(int ranks, int rank, int root) : p_(ranks), root_(root), me_((rank - root + ranks) % ranks) {}
  int me() const { return me_; }
  /// Rank of the i-th from the root.
  int rank_of(int i) const { return i + root_ < p_ ? i + root_ : i + root_ - p_; }
  int parent() const { return rank_of(me_ & (me_ - 1)); }
  /// Ranks below me, myself included.
  int width() const { return width_of(me_); }
  /// The same for the i-th from the root.
  int width_of(int i) const {
    const int span = i == 0 ? p_ : 1 << std::countr_zero(static_cast<unsigned>(i));
    return std::min(span, p_ - i);
  }
  /// Distance of the farthest child: children are at distances step, step / 2, … 1, as far as they exist; 0: there is
  /// none.
  int farthest() const {
    if (width() == 1) return 0;
    return static_cast<int>(std::bit_floor(static_cast<unsigned>(width() - 1)));
  }

 private:
  int p_;
  int root_;
  int me_;
};

}  // namespace rmq::mpi::coll
