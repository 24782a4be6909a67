#include "tools/launch/bonds.hpp"

#include <gtest/gtest.h>

namespace rmq::launch {
namespace {

// Jobs 1 and 3 have merged, and meet job 2 with a leader of 1. Each says of itself that it is adrift.
TEST(Bonds, EachJobOfASideMayBeAdrift) {
  Bonds bonds;
  bonds.tie("name", 1, 2);
  bonds.set_adrift("name", 1);
  EXPECT_FALSE(bonds.has_adrift(3));
  bonds.set_adrift("name", 3);
  for (const int job : {1, 2, 3}) EXPECT_TRUE(bonds.has_adrift(job));
  bonds.forget(3);
  EXPECT_FALSE(bonds.has_adrift(3));
}

}  // namespace
}  // namespace rmq::launch
