// SPDX-License-Identifier: BSD-3-Clause
#include "tools/launch/bonds.hpp"

#include <gtest/gtest.h>

namespace rmq::launch {
namespace {

// Jobs 1 and 3 have merged, and meet job 2 with a leader of 1. Each says of itself that it is adrift.
TEST(Bonds, EachJobOfASideMayBeAdrift) {
  Bonds bonds;
  bonds.tie("name", {1, 2});
  bonds.set_adrift("name", 1);
  EXPECT_FALSE(bonds.has_adrift(3));
  bonds.set_adrift("name", 3);
  for (const int job : {1, 2, 3}) EXPECT_TRUE(bonds.has_adrift(job));
  bonds.forget(3);
  EXPECT_FALSE(bonds.has_adrift(3));
}

// A connection holds all jobs that it was made of, also those between which it was not the first.
TEST(Bonds, EachJobOfAConnectionEndsWithEachOther) {
  Bonds bonds;
  bonds.expect(1, 0);
  bonds.expect(2, 0);
  bonds.tie("first", {0, 1});
  bonds.tie("all", {0, 1, 2});
  EXPECT_FALSE(bonds.awaited_by(2));
  bonds.untie("first");
  for (const int job : {0, 1, 2})
    for (const int other : {0, 1, 2}) EXPECT_TRUE(job == other || bonds.ends_with(job, other));
  bonds.forget(2);
  EXPECT_TRUE(bonds.ends_with(1, 0));
  EXPECT_EQ(bonds.connected_with(0), (std::set<int>{0, 1}));
  bonds.forget(1);
  EXPECT_EQ(bonds.connected_with(0), std::set<int>{0});
}

}  // namespace
}  // namespace rmq::launch
