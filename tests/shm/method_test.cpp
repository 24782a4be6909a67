// SPDX-License-Identifier: BSD-3-Clause
// The method in one process: packets between all ranks, by rings and inboxes.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <thread>

#include "tests/shm/world.hpp"

namespace rmq::test {
namespace {

using methods::Outcome;

class OnEachKind : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Shm, OnEachKind, testing::Values("memfd", "posix", "sysv"),
                         [](const auto& kind) { return std::string(kind.param); });

TEST_P(OnEachKind, CarriesPacketsOfEverySizeUnchangedAndInOrder) {
  World world(3, settings(GetParam()));
  const std::size_t most = world[0].method->eager_max(1);
  std::vector<std::size_t> sizes = {0,  1,  2,  3,  4,  7,  8,    9,    15,       16,  17,
                                    31, 32, 33, 63, 64, 65, 1000, 4096, most - 1, most};
  for (std::uint32_t msg = 0; msg < sizes.size(); ++msg) {
    ASSERT_TRUE(world[0].send_pattern(2, msg, sizes[msg]));
    ASSERT_TRUE(world[1].send_pattern(2, msg, sizes[msg]));
  }
  while (world[2].method->poll() != 0) {
  }
  ASSERT_EQ(world[2].got.size(), 2 * sizes.size());
  std::uint32_t next[2] = {0, 0};
  for (const Got& got : world[2].got) {
    const std::uint32_t msg = next[got.from]++;
    EXPECT_EQ(got.packet.msg, msg);
    ASSERT_EQ(got.payload.size(), sizes[msg]);
    for (std::size_t i = 0; i < got.payload.size(); ++i) ASSERT_EQ(got.payload[i], pattern(got.from, msg, i));
  }
}

TEST_P(OnEachKind, HeaderAndFieldsOfEveryKindArriveAsTheyWere) {
  World world(2, settings(GetParam()));
  for (const PacketKind& kind : packet_kinds()) {
    Packet packet(kind.kind);
    packet.flags = 5;
    packet.context = 77;
    packet.tag = -3;
    packet.source = 9;
    packet.msg = 0xdeadbeef;
    packet.credit = 123456;
    packet.length = 0;
    for (std::size_t i = 0; i < kBodyBytes; ++i) packet.body[i] = static_cast<std::byte>(i + 1);
    ASSERT_EQ(world[0].method->send(1, packet, {}, nullptr), Outcome::done);
    world.poll_all();
    world.poll_all();
    ASSERT_EQ(world[1].got.size(), 1u) << kind.name;
    Packet& back = world[1].got[0].packet;
    back.link = packet.link;
    // What lies behind the fields of a kind is nobody's.
    EXPECT_EQ(std::memcmp(&back, &packet, kHeaderBytes + body_bytes(kind.kind)), 0) << kind.name;
    world[1].got.clear();
  }
}

TEST(Shm, InlinePayloadKeepsTheFieldsBeforeIt) {
  World world(2);
  const auto data = random_bytes(64);
  for (const Kind kind : {Kind::SHORT, Kind::SHORT_SYNC, Kind::RNDV_DATA, Kind::FLOW}) {
    for (std::size_t bytes = 0; bytes <= 40; ++bytes) {
      Packet packet(kind);
      packet.length = static_cast<std::uint32_t>(bytes);
      for (std::size_t i = 0; i < body_bytes(kind); ++i) packet.body[i] = std::byte{0xee};
      Payload payload{DataView::contiguous(data.data(), 64), 3, bytes};
      ASSERT_EQ(world[0].method->send(1, packet, payload, nullptr), Outcome::done);
      while (world[1].method->poll() != 0) {
      }
      ASSERT_EQ(world[1].got.size(), 1u);
      const Got& got = world[1].got[0];
      for (std::size_t i = 0; i < body_bytes(kind); ++i) ASSERT_EQ(got.packet.body[i], std::byte{0xee});
      ASSERT_TRUE(std::equal(got.payload.begin(), got.payload.end(), data.begin() + 3));
      world[1].got.clear();
    }
  }
}

TEST(Shm, ReachesOnlyTheOthersOfItsHost) {
  World world(4, settings(), {0, 1, 0, 1});
  EXPECT_FALSE(world[0].method->reaches(0));
  EXPECT_FALSE(world[0].method->reaches(1));
  EXPECT_TRUE(world[0].method->reaches(2));
  EXPECT_TRUE(world[3].method->reaches(1));
  ASSERT_TRUE(world[3].send_pattern(1, 0, 100));
  while (world[1].method->poll() != 0) {
  }
  ASSERT_EQ(world[1].got.size(), 1u);
  EXPECT_EQ(world[1].got[0].from, 3);
}

TEST(Shm, ARankAloneOnItsHostNeedsNoSegment) {
  World world(2, settings(), {0, 1});
  EXPECT_FALSE(world[0].method->reaches(1));
  EXPECT_EQ(world[0].method->poll(), 0);
  EXPECT_EQ(world[0].method->mem_alloc(100), nullptr);
  EXPECT_TRUE(world[0].method->arm());
  world[0].method->disarm();
  EXPECT_TRUE(world[0].method->drained());
}

TEST(Shm, AFullRingSaysRetryAndLosesNothing) {
  Config config = settings();
  config.shm_cells = 16 * 64;
  config.shm_ring = 8192;
  for (const std::size_t bytes : {8u, 300u, 2048u}) {
    World world(2, config);
    world[1].keep = false;
    std::vector<std::byte> data(bytes);
    std::uint32_t sent = 0;
    for (int round = 0; round < 50; ++round) {
      for (;;) {
        for (std::size_t i = 0; i < bytes; ++i) data[i] = pattern(0, sent, i);
        if (world[0].try_send(1, Kind::SHORT, sent, data.data(), bytes) != Outcome::done) break;
        ASSERT_LT(++sent, 100000u);
      }
      while (world[1].method->poll() != 0) {
      }
      EXPECT_EQ(world[1].packets, sent);
    }
    EXPECT_GT(sent, 150u);
    EXPECT_EQ(world[1].damaged, 0u);
  }
}

TEST(Shm, ManySendersMeetAtOneReceiverThoughItLooksAtFewRingsAtATime) {
  World world(20);  // beyond the rings that are reserved at start
  world[0].keep = false;
  for (std::uint32_t msg = 0; msg < 30; ++msg) {
    for (std::size_t from = 1; from < 20; ++from) ASSERT_TRUE(world[from].send_pattern(0, msg, 10 * from));
    if (msg % 7 == 0) world[0].method->poll();
  }
  EXPECT_TRUE(world[0].poll_until([&] { return world[0].packets == 19 * 30; }));
  EXPECT_EQ(world[0].damaged, 0u);
}

// Where pairs begin by inbox: order stays across the change to a ring, whichever packet earns it, and what the inbox
// cannot hold is refused and lost nowhere.
TEST(Shm, PairsOfALargeHostGoFromTheInboxToTheirRingsInOrder) {
  World world(20, small_heaps());
  world[0].keep = world[1].keep = false;
  std::vector<std::uint32_t> sent(20, 0);
  std::mt19937 random(3);
  bool refused = false;
  for (int step = 0; step < 4000; ++step) {
    const std::size_t from = 1 + random() % 19;
    const std::size_t bytes = random() % 40 == 0 ? 300 : random() % 24;
    std::vector<std::byte> data(bytes);
    for (std::size_t i = 0; i < bytes; ++i) data[i] = pattern(static_cast<Rank>(from), sent[from], i);
    const Outcome o = world[from].try_send(0, Kind::SHORT, sent[from], data.data(), bytes);
    if (o == Outcome::done) ++sent[from];
    refused = refused || o == Outcome::retry;
    if (random() % 1500 == 0) world[0].method->poll();
  }
  const auto all = std::accumulate(sent.begin(), sent.end(), std::uint64_t{0});
  EXPECT_TRUE(world[0].poll_until([&] { return world[0].packets == all; }));
  EXPECT_EQ(world[0].damaged, 0u);
  EXPECT_TRUE(refused);
}

// More than an inbox holds, and nobody reads it: who finds it full takes a ring, and announces it without the inbox.
TEST(Shm, WhoComputesKeepsNobodyFromSendingLittle) {
  World world(32, small_heaps());
  world[0].keep = false;
  for (std::uint32_t msg = 0; msg < 40; ++msg) {
    for (std::size_t from = 1; from < 32; ++from) {
      ASSERT_EQ(world[from].try_send(0, Kind::SHORT, msg, nullptr, 0), Outcome::done);
    }
  }
  EXPECT_TRUE(world[0].poll_until([&] { return world[0].packets == 31 * 40; }));
  EXPECT_EQ(world[0].damaged, 0u);
}

// Who gives up a peer tells it, also without ever having sent to it, and when its inbox is full at that time.
TEST(Shm, TheEndOfALinkWithoutRingIsTold) {
  for (const bool full : {false, true}) {
    World world(20, small_heaps());
    world[1].keep = false;
    for (std::size_t from = 2; full && from < 6; ++from) {
      for (std::uint32_t msg = 0; msg < 12; ++msg) world[from].try_send(1, Kind::SHORT, msg, nullptr, 0);
    }
    world[0].method->drop(1, {Errc::protocol, "test"});
    EXPECT_TRUE(world[1].poll_until([&] {
      world[0].method->poll();
      return !world[1].lost.empty();
    }));
    EXPECT_EQ(world[1].lost[0].first, 0);
    EXPECT_EQ(world[1].packets, full ? 48u : 0u);
  }
}

// An exchange with everybody in turn takes no ring, however often it comes; a pair that talks takes one.
TEST(Shm, OnlyBusyPairsOfALargeHostTakeRings) {
  constexpr int kRanks = 80;  // a season for each pair is 1024 / 79 packets
  World world(kRanks, small_heaps());
  const auto rings = [&] { return world[0].shm().rings(); };
  for (std::uint32_t round = 0; round < 40; ++round) {
    for (Rank to = 1; to < kRanks; ++to) {
      ASSERT_TRUE(world[0].send_pattern(to, round, 8));
      while (world[static_cast<std::size_t>(to)].method->poll() != 0) {
      }
    }
  }
  EXPECT_EQ(rings(), 0u);
  for (std::uint32_t msg = 40; msg < 80; ++msg) {
    ASSERT_TRUE(world[0].send_pattern(7, msg, 8));
    while (world[7].method->poll() != 0) {
    }
  }
  EXPECT_EQ(rings(), 1u);
}

TEST(Shm, HandlersMaySendFromInsidePoll) {
  World world(2);
  const auto reply = [](ShmRank& self, Rank from, const Packet& packet) {
    if (packet.msg < 500) self.send_pattern(from, packet.msg + 1, packet.msg % 90);
  };
  world[0].on_any = world[1].on_any = reply;
  ASSERT_TRUE(world[0].send_pattern(1, 0, 8));
  for (int i = 0; i < 2000; ++i) world.poll_all();
  EXPECT_EQ(world[0].packets + world[1].packets, 501u);
}

TEST(Shm, ThreadsStressAllPairsWithPayloadChecks) {
  constexpr int kRanks = 4;
  constexpr std::uint32_t kMessages = 3000;
  World world(kRanks);
  std::vector<std::thread> threads;
  for (int me = 0; me < kRanks; ++me) {
    threads.emplace_back([&, me] {
      ShmRank& rank = world[static_cast<std::size_t>(me)];
      rank.keep = false;
      std::mt19937 random(static_cast<unsigned>(me));
      for (std::uint32_t msg = 0; msg < kMessages; ++msg) {
        for (Rank to = 0; to < kRanks; ++to) {
          if (to == me) continue;
          EXPECT_TRUE(rank.send_pattern(to, msg, random() % 10 == 0 ? random() % 20000 : random() % 80));
        }
      }
      EXPECT_TRUE(rank.poll_until([&] { return rank.packets == (kRanks - 1) * kMessages; }));
      EXPECT_EQ(rank.damaged, 0u);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// Four threads have ten ranks each, which all send to all, by inboxes of 64 cells and what rings that takes.
TEST(Shm, ThreadsStressTheInboxesOfALargeHost) {
  constexpr int kThreads = 4, kEach = 10, kRanks = kThreads * kEach;
  constexpr std::uint32_t kMessages = 60;  // more than a pair without ring may send
  World world(kRanks, small_heaps());
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      std::vector<std::uint32_t> sent(std::size_t{kEach} * kRanks, 0);
      std::mt19937 random(static_cast<unsigned>(t));
      std::uint64_t left = std::uint64_t{kEach} * (kRanks - 1) * kMessages;
      const auto mine = [&](int i) -> ShmRank& { return world[static_cast<std::size_t>(t * kEach + i)]; };
      for (int i = 0; i < kEach; ++i) mine(i).keep = false;
      const auto poll_mine = [&] {
        bool all = true;
        for (int i = 0; i < kEach; ++i) {
          mine(i).method->poll();
          all = all && mine(i).packets == std::uint64_t{kRanks - 1} * kMessages;
        }
        return all;
      };
      while (left > 0) {
        const int i = static_cast<int>(random() % kEach), to = static_cast<int>(random() % kRanks);
        std::uint32_t& msg = sent[static_cast<std::size_t>(i * kRanks + to)];
        if (to == t * kEach + i || msg == kMessages) continue;
        std::byte data[24];
        const std::size_t bytes = random() % sizeof data;
        for (std::size_t n = 0; n < bytes; ++n) data[n] = pattern(t * kEach + i, msg, n);
        if (mine(i).try_send(to, Kind::SHORT, msg, data, bytes) == Outcome::done)
          ++msg, --left;
        else
          poll_mine();
      }
      const std::uint64_t end = os::now_ns() + 60'000'000'000u;
      while (!poll_mine() && os::now_ns() < end) std::this_thread::yield();
      for (int i = 0; i < kEach; ++i) {
        EXPECT_EQ(mine(i).packets, std::uint64_t{kRanks - 1} * kMessages);
        EXPECT_EQ(mine(i).damaged, 0u);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace rmq::test
