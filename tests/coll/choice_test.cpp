// Who chooses: all ranks go by what rank 0 has settled.
#include <gtest/gtest.h>

#include "coll/team.hpp"

namespace rmq::testing {
namespace {

namespace coll = mpi::coll;
using coll::Algorithm;
using coll::Terms;

TEST(Terms, AreThoseOfRankZeroEverywhere) {
  const auto board = local_bootstraps(3);
  const auto second = coll::settle_terms(*board[1], "allreduce=halving", false);  // before rank 0 has settled anything
  const auto first = coll::settle_terms(*board[0], "allreduce=ring,barrier=tree", true);
  const auto third = coll::settle_terms(*board[2], "", false);
  for (const auto* terms : {&first, &second, &third}) {
    ASSERT_TRUE(terms->has_value());
    EXPECT_EQ((*terms)->forced().allreduce, Algorithm::ring);
    EXPECT_EQ((*terms)->forced().barrier, Algorithm::tree);
    EXPECT_EQ((*terms)->forced().bcast, Algorithm::automatic);
    EXPECT_TRUE((*terms)->crowded());
  }
}

TEST(Terms, RefuseWordsThatNameNothing) {
  const auto board = local_bootstraps(1);
  for (const char* list :
       {"allreduce=rings", "allreduces=ring", "allreduce", "=ring", "reduce=ring", "barrier=tree,bcast=tree"}) {
    EXPECT_FALSE(coll::settle_terms(*board[0], list, false)) << list;
  }
  EXPECT_TRUE(coll::settle_terms(*board[0], "barrier=tree,allreduce=ring", false));
}

}  // namespace
}  // namespace rmq::testing
