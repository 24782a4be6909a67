#include <gtest/gtest.h>

#include "mpi/internal/objects.hpp"

namespace rmq::mpi {
namespace {

TEST(Group, KnowsThePlaceOfEachMemberAndOfNobodyElse) {
  Group g;
  g.world = {7, 3, 5};
  EXPECT_EQ(g.place_of(7), 0);
  EXPECT_EQ(g.place_of(3), 1);
  EXPECT_EQ(g.place_of(5), 2);
  for (const Rank r : {0, 4, 6, 8}) EXPECT_EQ(g.place_of(r), MPI_UNDEFINED) << r;
}

TEST(Group, WithoutMembersHasNoPlaces) {
  EXPECT_EQ(Group{}.place_of(0), MPI_UNDEFINED);
}

TEST(Group, OfAMillionAnswersForEachMember) {  // a search from the front would take ten minutes
  constexpr int n = 1'000'000;
  Group g;
  for (int i = 0; i < n; ++i) g.world.push_back(n - 1 - i);
  int wrong = 0;
  for (int i = 0; i < n; ++i) wrong += g.place_of(i) != n - 1 - i;
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace rmq::mpi
