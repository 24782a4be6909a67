// SPDX-License-Identifier: BSD-3-Clause
#include "shm/pull_choice.hpp"

#include <gtest/gtest.h>

#include <utility>

namespace {

using rmq::methods::Pull;
using rmq::shm::PullChoice;
using rmq::shm::PullPeriods;

constexpr std::uint64_t kRing = 1 << 20;

/// A peer, on a machine where each way costs what it is told.
struct Machine {
  double get, ask;       // of a byte
  bool refuses = false;  // gets
  PullChoice choice{kRing};
  PullPeriods periods{};
  std::uint64_t now = 1000;
  int refused = 0;

  void come(Pull how, std::uint64_t bytes, std::uint64_t from) {
    if (const auto over = periods.add(how, 0, bytes, from, now)) choice.measured(*over, now);
  }
  /// So many messages, all asked for before any comes, and all there at once; how they came.
  Pull pull(std::uint64_t bytes, bool may_ask = true, int messages = 1) {
    Pull how = choice.next(bytes) == Pull::ask && may_ask ? Pull::ask : Pull::get;
    if (how == Pull::get && refuses) {
      choice.refused(bytes);
      ++refused;
      how = Pull::ask;
    }
    const std::uint64_t from = now;
    now += static_cast<std::uint64_t>((how == Pull::get ? get : ask) * static_cast<double>(bytes) * messages);
    for (int i = 0; i < messages; ++i) come(how, bytes, from + static_cast<std::uint64_t>(i)), ++now;
    now += 100;
    return how;
  }
  /// Of so many, how many came as packets.
  int asked(int times, std::uint64_t bytes, bool may_ask = true, int messages = 1) {
    int n = 0;
    for (int i = 0; i < times; ++i) n += pull(bytes, may_ask, messages) == Pull::ask;
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
  const std::uint64_t from = m.now;
  m.now += std::uint64_t{1} << 40;
  m.come(Pull::ask, GetParam(), from);
  EXPECT_GE(m.asked(1000, GetParam()), 950);
}

INSTANTIATE_TEST_SUITE_P(Sizes, PullChoices, testing::Values(16384, 20000, 65536, 1 << 20, 1u << 30));

TEST(PullChoice, FirstPacketsFindNoPagesAndSayNothing) {
  Machine m{.get = 2, .ask = 20};
  EXPECT_EQ(m.asked(16, 65536), 16);  // the ring, once, but for the one that is not over
  m.ask = 1;
  EXPECT_GE(m.asked(1000, 65536), 970);
}

TEST(PullChoice, MessagesThatEndTogetherShareTheTime) {
  for (const int messages : {2, 5, 16, 64}) {
    Machine packets{.get = 3, .ask = 2}, copies{.get = 2, .ask = 3};
    packets.asked(1000, 65536, true, messages), copies.asked(1000, 65536, true, messages);
    EXPECT_GE(packets.asked(1000, 65536, true, messages), 980) << messages;
    EXPECT_LE(copies.asked(1000, 65536, true, messages), 20) << messages;
  }
}

TEST(PullChoice, AStreamWithoutAPauseIsMeasured) {
  Machine m{.get = 1, .ask = 2};
  std::uint64_t from = m.now;
  int packets = 0;
  for (int i = 0; i < 100'000; ++i) {
    const Pull how = m.choice.next(65536);
    packets += how == Pull::ask;
    const std::uint64_t next = m.now;
    m.now += how == Pull::get ? 65536 : 2 * 65536;
    m.come(how, 65536, from);  // asked for when the one before was
    from = next;
  }
  EXPECT_LE(packets, 30'000);
}

TEST(PullChoice, MemoryThatCannotBeReadIsNotTriedForLong) {
  Machine m{.get = 1, .ask = 2};
  m.asked(100, 65536);
  m.refuses = true;
  m.asked(10000, 65536);
  EXPECT_LE(m.refused, 10);
}

TEST(PullChoice, OneRefusalIsForgotten) {
  Machine m{.get = 1, .ask = 2};
  m.asked(1000, 65536);
  m.choice.refused(65536);
  m.asked(100, 65536);
  EXPECT_EQ(m.choice.best(65536), Pull::get);
}

// What is under way while others come and go, the same way or the other, has taken all of its time.
TEST(PullPeriods, AMessageThatOutlastsOthersIsChargedFromItsBeginning) {
  for (const Pull others : {Pull::get, Pull::ask}) {
    PullPeriods periods;
    for (std::uint64_t at = 1000; at < 1400; at += 100) periods.add(others, 0, 65536, at + 10, at + 90);
    periods.add(Pull::ask, 1, 1 << 20, 1000, 1500);
    const auto over = periods.add(Pull::ask, 0, 65536, 2000, 2001);
    ASSERT_TRUE(over);
    EXPECT_EQ(over->from, 1000);
    EXPECT_EQ(over->to, 1500);
    EXPECT_EQ(over->peer, 1);
    EXPECT_EQ(over->asked, 1000);
  }
}

TEST(PullPeriods, AClockThatIsSetBackUnderWayTellsNothing) {
  PullPeriods periods;
  periods.add(Pull::ask, 0, 65536, 1000, 2000);
  EXPECT_FALSE(periods.add(Pull::ask, 0, 65536, 1900, 500));
  const auto over = periods.add(Pull::ask, 0, 65536, 3000, 4000);
  ASSERT_TRUE(over);
  EXPECT_EQ(over->cost(), 0);
}

TEST(PullChoice, WhatWasAskedForBeforeAnAttemptIsNoPartOfIt) {
  Machine m{.get = 2, .ask = 4};
  m.asked(1000, 65536);
  ASSERT_EQ(m.choice.best(65536), Pull::get);
  while (m.choice.next(65536) == Pull::get) m.pull(65536);
  // One that has been under way since long ago, and seems to have taken nothing.
  m.choice.measured({.way = Pull::ask, .message = 65536, .asked = 1, .from = m.now - 1, .to = m.now, .bytes = 65536},
                    m.now);
  EXPECT_EQ(m.choice.best(65536), Pull::get);
}

TEST(PullChoice, ASenderThatWaitsNowAndThenIsFound) {
  Machine m{.get = 3, .ask = 2};
  for (int i = 0; i < 4000; ++i) m.pull(65536, i % 2 == 0);
  EXPECT_EQ(m.choice.best(65536), Pull::ask);
}

TEST(PullChoice, ShortMessagesFollowNoAttempt) {
  Machine m{.get = 2, .ask = 1};
  m.asked(100, 16384);
  while (m.choice.next(16384) == m.choice.best(16384)) m.pull(16384);
  EXPECT_EQ(m.choice.next(12000), m.choice.best(12000));
}

TEST(PullChoice, WhatIsNotMeasuredTriesNothing) {
  Machine m{.get = 2, .ask = 1};
  m.asked(100, 65536);
  while (m.choice.next(65536) == Pull::ask) m.pull(65536);
  EXPECT_EQ(m.choice.best(65536), Pull::ask);
}

TEST(PullChoice, AClockThatIsSetBackIsFollowed) {
  Machine m{.get = 1, .ask = 2};
  m.asked(100, 65536);
  m.now = 500;
  m.ask = 0.1;
  m.asked(20000, 65536);
  EXPECT_EQ(m.choice.best(65536), Pull::ask);
}

TEST(PullChoice, ASenderThatNeverWaitsIsNotAskedForLong) {
  Machine m{.get = 3, .ask = 2};
  EXPECT_EQ(m.asked(1000, 65536, false), 0);
  EXPECT_GE(m.asked(1000, 65536), 950);
}

TEST(PullChoice, SizesAreApart) {
  Machine m{.get = 2, .ask = 1};
  m.asked(1000, 65536);
  std::swap(m.get, m.ask);
  m.asked(1000, 1 << 20);
  EXPECT_EQ(m.choice.next(65536), Pull::ask);
  EXPECT_EQ(m.choice.next(1 << 20), Pull::get);
}

}  // namespace
