// SPDX-License-Identifier: BSD-3-Clause
// The trees of a pipelined broadcast: engine/coll/two_trees.hpp.
#include "engine/coll/two_trees.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <vector>

namespace rmq::testing {
namespace {

using mpi::coll::TwoTrees;

TEST(TwoTrees, ReachAllRanksInFewStepsAndNobodyStandsAboveOthersInBoth) {
  for (int p = 1; p <= 600; ++p) {
    const TwoTrees trees(p);
    const auto at = [](int rank) { return static_cast<std::size_t>(rank); };
    std::vector<int> above(at(p));  // in how many trees a rank has others below it
    for (int tree = 0; tree < 2; ++tree) {
      std::vector<int> parent(at(p), TwoTrees::kNone);
      for (int rank = 0; rank < p; ++rank) {
        bool any = false;
        for (const int child : trees.children(tree, rank)) {
          if (child == TwoTrees::kNone) continue;
          ASSERT_TRUE(child > 0 && child < p) << p;
          ASSERT_EQ(parent[at(child)], TwoTrees::kNone) << p << ": " << child << " has two parents";
          parent[at(child)] = rank;
          any = true;
        }
        if (any && rank > 0) ++above[at(rank)];
      }
      for (int rank = 1; rank < p; ++rank) {
        ASSERT_EQ(parent[at(rank)], trees.parent(tree, rank)) << p << ": " << rank;
        int steps = 0;
        for (int r = rank; r != 0; r = parent[at(r)]) ASSERT_LE(++steps, std::bit_width(static_cast<unsigned>(p))) << p;
      }
    }
    EXPECT_LE(*std::ranges::max_element(above), 1) << p;
  }
}

}  // namespace
}  // namespace rmq::testing
