#include "shm/pull_choice.hpp"

#include <gtest/gtest.h>

namespace {

using rmq::methods::Pull;
using rmq::shm::PullChoice;

constexpr std::uint64_t kRing = 1 << 20;

/// A peer, on a machine where each way costs what it is told.
struct Machine {
  double get, ask;  // of a byte
  PullChoice choice{kRing};
  std::uint64_t now = 1000;

  /// One message; how it came.
  Pull pull(std::uint64_t bytes, bool may_ask = true) {
    const Pull how = choice.next(bytes) == Pull::ask && may_ask ? Pull::ask : Pull::get;
    const auto took = static_cast<std::uint64_t>((how == Pull::get ? get : ask) * static_cast<double>(bytes));
    choice.measured(how, bytes, now, now + took);
    now += took + 100;
    return how;
  }
  /// Of so many messages, how many came as packets.
  int asked(int messages, std::uint64_t bytes, bool may_ask = true) {
    int n = 0;
    for (int i = 0; i < messages; ++i) n += pull(bytes, may_ask) == Pull::ask;
    return n;
  }
};

class PullChoices : public testing::TestWithParam<std::uint64_t> {};

TEST_P(PullChoices, FindsTheFasterWay) {
  Machine packets{.get = 2, .ask = 1}, copies{.get = 1, .ask = 2};
  packets.asked(1000, GetParam()), copies.asked(1000, GetParam());
  EXPECT_GE(packets.asked(1000, GetParam()), 980);
  EXPECT_LE(copies.asked(1000, GetParam()), 20);
}

TEST_P(PullChoices, FollowsTheMachine) {
  Machine m{.get = 1, .ask = 0.5};
  m.asked(5000, GetParam());
  m.ask = 5;  // the ranks have moved to CPUs that are far from each other
  EXPECT_LE(m.asked(1000, GetParam()), 40);
  m.asked(20000, GetParam());
  m.ask = 0.5;
  EXPECT_GE(m.asked(10000, GetParam()), 5000);
}

TEST_P(PullChoices, AMessageThatHasWaitedForItsCpuChangesNothingForLong) {
  Machine m{.get = 2, .ask = 1};
  m.asked(5000, GetParam());
  m.choice.measured(Pull::ask, GetParam(), m.now, m.now + (1u << 30));
  m.now += 1u << 30;
  EXPECT_GE(m.asked(1000, GetParam()), 950);
}

INSTANTIATE_TEST_SUITE_P(Sizes, PullChoices, testing::Values(16384, 20000, 65536, 1 << 20, 1u << 30));

TEST(PullChoice, FirstPacketsFindNoPagesAndSayNothing) {
  Machine m{.get = 2, .ask = 20};
  EXPECT_EQ(m.asked(16, 65536), 16);  // the ring, once
  m.ask = 1;
  EXPECT_GE(m.asked(1000, 65536), 980);
}

TEST(PullChoice, WhatStreamsCountsFromTheMessageBefore) {
  Machine m{.get = 3, .ask = 2};
  m.asked(1000, 65536);
  // Each of these was asked for long before it came, because others came first.
  for (int i = 0; i < 100; ++i) {
    m.choice.measured(Pull::ask, 65536, m.now, m.now + (static_cast<std::uint64_t>(i) + 1) * 2 * 65536);
  }
  m.now += 200 * 65536;
  EXPECT_GE(m.asked(100, 65536), 95);
}

TEST(PullChoice, ASenderThatNeverWaitsIsNotAskedForLong) {
  Machine m{.get = 3, .ask = 2};
  EXPECT_EQ(m.asked(1000, 65536, false), 0);
  EXPECT_GE(m.asked(1000, 65536), 950);
}

TEST(PullChoice, SizesAreApart) {
  Machine m{.get = 2, .ask = 1};
  m.asked(1000, 65536);
  m = {.get = 1, .ask = 2, .choice = m.choice, .now = m.now};
  m.asked(1000, 1 << 20);
  EXPECT_EQ(m.choice.next(65536), Pull::ask);
  EXPECT_EQ(m.choice.next(1 << 20), Pull::get);
}

}  // namespace
