// SPDX-License-Identifier: BSD-3-Clause
// Who sleeps is rung, once, and by whom it waits for.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/shm/world.hpp"

namespace rmq::test {
namespace {

using methods::Outcome;

TEST(ShmSleep, AnnouncedSleepMakesSendersRingAndNewsForbidSleep) {
  World world(2);
  ASSERT_TRUE(world[0].send_pattern(1, 0, 8));
  EXPECT_FALSE(world[1].method->arm()) << "a connection and a packet wait";
  world[1].method->disarm();
  while (world[1].method->poll() != 0) {
  }
  EXPECT_TRUE(world[1].method->arm());
  ASSERT_TRUE(world[0].send_pattern(1, 1, 8));
  const std::uint64_t start = os::now_ns();
  world[1].bell->wait(50'000'000'000);
  EXPECT_LT(os::now_ns() - start, 40'000'000'000u) << "nobody rang";
  world[1].method->disarm();
  EXPECT_GT(world[1].method->poll(), 0);
}

TEST(ShmSleep, OneSleepIsRungOnce) {
  World world(3);
  for (const std::size_t from : {1u, 2u}) ASSERT_TRUE(world[from].send_pattern(0, 0, 8));
  while (world[0].method->poll() != 0) {
  }
  EXPECT_TRUE(world[0].method->arm());
  ASSERT_TRUE(world[1].send_pattern(0, 1, 8));
  world[0].bell->wait(-1);
  // Awake, but it has not got round to saying so: further packets cost their senders no system call.
  ASSERT_TRUE(world[1].send_pattern(0, 2, 8));
  ASSERT_TRUE(world[2].send_pattern(0, 1, 8));
  const std::uint64_t start = os::now_ns();
  world[0].bell->wait(2'000'000);
  EXPECT_GE(os::now_ns() - start, 2'000'000u) << "rung again";
  world[0].method->disarm();
}

TEST(ShmSleep, PartnersInTurnAreFoundByTheNextPoll) {
  constexpr int kRanks = 20;  // far more rings than one poll looks at
  Config config = settings();
  config.shm_heap = 4096;
  World world(kRanks, config);
  for (std::size_t from = 1; from < kRanks; ++from) ASSERT_TRUE(world[from].send_pattern(0, 0, 100));
  while (world[0].got.size() < kRanks - 1) world[0].method->poll();
  const auto polls_for = [&](std::size_t from, std::uint32_t msg) {
    EXPECT_TRUE(world[from].send_pattern(0, msg, 8));
    const std::size_t before = world[0].got.size();
    int polls = 0;
    for (; world[0].got.size() == before; ++polls) world[0].method->poll();
    return polls;
  };
  for (const std::size_t partners : {2u, 3u, 4u}) {
    for (std::uint32_t round = 0; round < 6; ++round) {
      for (std::size_t i = 0; i < partners; ++i) {
        const int polls = polls_for(2 + 5 * i, 1);
        EXPECT_TRUE(round == 0 || polls == 1) << polls << " polls: " << partners << " partners, round " << round;
      }
    }
  }
}

TEST(ShmSleep, ASenderThatWaitsForRoomIsWokenWhenThereIsSome) {
  Config config = settings();
  config.shm_cells = 16 * 64;
  World world(2, config);
  std::uint32_t sent = 0;
  while (world[0].try_send(1, Kind::SHORT, sent, nullptr, 0) == Outcome::done) ++sent;
  world[0].method->poll();
  EXPECT_TRUE(world[0].method->arm()) << "the ring is still full";
  while (world[1].method->poll() != 0) {
  }
  const std::uint64_t start = os::now_ns();
  world[0].bell->wait(50'000'000'000);
  EXPECT_LT(os::now_ns() - start, 40'000'000'000u) << "nobody rang";
  world[0].method->disarm();
  EXPECT_EQ(world[0].try_send(1, Kind::SHORT, sent, nullptr, 0), Outcome::done);

  // The same when room appears between the refusal and the announcement.
  while (world[0].try_send(1, Kind::SHORT, 0, nullptr, 0) == Outcome::done) {
  }
  while (world[1].method->poll() != 0) {
  }
  EXPECT_FALSE(world[0].method->arm());
  world[0].method->disarm();
}

}  // namespace
}  // namespace rmq::test
