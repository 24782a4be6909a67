// SPDX-License-Identifier: BSD-3-Clause
#include "base/ranks.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "start/hosts.hpp"

namespace rmq {
namespace {

TEST(Ranks, KnowThePlaceOfEachMemberAndOfNobodyElse) {
  for (const Ranks& r : {Ranks{7, 3, 5}, Ranks{7, 5, 3}, Ranks{3, 5, 7}, Ranks{9}, Ranks{}, Ranks::rule(2, 4, 3)}) {
    for (Rank world = 0; world < 20; ++world) {
      const auto at = std::find(r.begin(), r.end(), world);
      EXPECT_EQ(r.place_of(world), at == r.end() ? -1 : at - r.begin()) << world;
    }
  }
}

TEST(Ranks, FindTheRuleBehindAList) {
  EXPECT_TRUE((Ranks{4}).is_rule());
  EXPECT_TRUE((Ranks{4, 1}).is_rule());
  EXPECT_TRUE((Ranks{9, 6, 3, 0}).is_rule());
  EXPECT_FALSE((Ranks{9, 6, 3, 1}).is_rule());
  EXPECT_EQ((Ranks{2, 5, 8}), Ranks::rule(2, 3, 3));
  EXPECT_EQ((Ranks{2}), Ranks::rule(2, 1, 77));
  EXPECT_EQ(Ranks::rule(3, 0), Ranks{});
  EXPECT_NE((Ranks{2, 5, 8}), (Ranks{2, 5, 9}));
  EXPECT_NE((Ranks{2, 5, 8}), (Ranks{2, 5}));
  EXPECT_EQ((Ranks{1, 2, 4}), (Ranks{1, 2, 4}));
}

TEST(Ranks, OfAMillionAnswerForEachMember) {  // a search from the front would take ten minutes
  constexpr int n = 1'000'000;
  std::vector<Rank> reversed, turned(1, n - 1);
  for (int i = 0; i < n; ++i) reversed.push_back(n - 1 - i);
  for (int i = 0; i < n - 1; ++i) turned.push_back(i);
  const Ranks down(reversed), round(turned);
  EXPECT_TRUE(down.is_rule());
  EXPECT_FALSE(round.is_rule());
  int wrong = 0;
  for (int i = 0; i < n; ++i) wrong += down.place_of(i) != n - 1 - i || round.place_of(i) != (i + 1) % n;
  EXPECT_EQ(wrong, 0);
}

TEST(Hosts, SayWhereEachRankIs) {
  const std::vector<std::vector<int>> all{{0},
                                          {0, 0, 0},
                                          {0, 0, 1, 1},
                                          {0, 0, 0, 1},
                                          {0, 1, 1, 1},
                                          {0, 1, 0, 1, 2, 2},
                                          {2, 2, 0, 0, 1, 1, 1},
                                          {1, 0, 0, 2, 1},
                                          {0, 1, 0, 1},
                                          {0, 1, 2, 0, 1, 2, 0, 1},
                                          {1, 1, 0, 1, 1, 0, 1, 1},
                                          {0, 1, 0, 1, 0}};
  for (const auto& list : all) {
    const Hosts hosts(list);
    ASSERT_EQ(hosts.size(), static_cast<int>(list.size()));
    for (int r = 0; r < hosts.size(); ++r) {
      const int host = list[static_cast<std::size_t>(r)];
      EXPECT_EQ(hosts[r], host);
      EXPECT_EQ(hosts.count(host, r), std::count(list.begin(), list.begin() + r, host));
    }
    EXPECT_EQ(hosts.is_one(), std::ranges::count(list, list[0]) == hosts.size());
  }
  EXPECT_EQ(Hosts::blocks(7, 3), Hosts(std::vector<int>{0, 0, 0, 1, 1, 1, 2}));
  EXPECT_EQ(Hosts::blocks(4, 9), Hosts(std::vector<int>{0, 0, 0, 0}));
}

TEST(Hosts, KeepOnePeriodOfWhatRepeats) {
  EXPECT_EQ(Hosts(std::vector<int>{0, 1, 2, 0, 1, 2, 0}).period(), 3);
  EXPECT_EQ(Hosts(std::vector<int>{0, 1, 2, 0, 1}).period(), 5);  // too little of it
  EXPECT_EQ(Hosts(std::vector<int>{0, 0, 0, 0}).runs().size(), 1u);
  EXPECT_EQ(Hosts(std::vector<int>{0, 1, 2, 0, 1, 2, 0}).hosts(), 3);
}

TEST(Hosts, SayWhichMembersAreOnOne) {
  const Hosts mixed(std::vector<int>{0, 1, 0, 1, 2, 2, 0});
  const Hosts blocks = Hosts::blocks(64, 8);
  const Hosts in_turn(std::vector<int>{0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1});
  const auto expect = [](const Hosts& hosts, const Ranks& members) {
    for (int host = 0; host < 4; ++host) {
      std::vector<Rank> places;
      for (int i = 0; i < members.size(); ++i)
        if (hosts[members[i]] == host) places.push_back(i);
      EXPECT_EQ(hosts.places_on(host, members), Ranks(places));
    }
  };
  for (const Ranks& members : {Ranks::rule(0, 7), Ranks::rule(6, 7, -1), Ranks::rule(1, 3, 2), Ranks{5, 0, 3, 2},
                               Ranks{4}, Ranks::rule(6, 4, -2)})
    expect(mixed, members);
  for (const Ranks& members : {Ranks::rule(0, 64), Ranks::rule(3, 50), Ranks::rule(63, 32, -2), Ranks{9, 1, 30, 8}})
    expect(blocks, members);
  for (const Ranks& members : {Ranks::rule(0, 11), Ranks::rule(10, 11, -1), Ranks::rule(1, 5, 2), Ranks{9, 1, 3, 8}})
    expect(in_turn, members);
}

}  // namespace
}  // namespace rmq
