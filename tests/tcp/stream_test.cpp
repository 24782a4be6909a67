// SPDX-License-Identifier: BSD-3-Clause
// What flows over an open connection: order, numbers, partial writes, landings, bursts.
#include <gtest/gtest.h>

#include "base/data/layout.hpp"
#include "base/os/clock.hpp"
#include "tcp/node.hpp"

namespace rmq::tcp::test {
namespace {

using methods::Landing;
using methods::Outcome;

Packet piece_packet(std::size_t bytes) {
  Packet packet(Kind::RNDV_DATA);
  packet.length = static_cast<std::uint32_t>(bytes);
  packet.rndv_data = {0x1122334455667788u, 42};
  return packet;
}

Config with_buffer(std::uint64_t bytes) {
  Config config;
  config.tcp_buffer = bytes;
  return config;
}

class Stream : public testing::TestWithParam<std::uint64_t> {};

TEST_P(Stream, KeepsOrderFieldsAndNumbersOfPacketsOfAllSizes) {
  World world(2, with_buffer(GetParam()));
  const auto data = pattern(70000, 1);
  std::vector<std::size_t> sizes;
  for (std::size_t i = 0; i < 600; ++i) sizes.push_back(i % 17 == 0 ? i * 101 % 65537 : i % 5 * 300);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    Packet packet = short_packet(static_cast<int>(i), sizes[i]);
    packet.msg = 77;
    ASSERT_TRUE(world[0].send(1, packet, DataView::contiguous(data.data() + i, sizes[i])));
  }
  ASSERT_TRUE(world.until([&] { return world[1].received.size() == sizes.size(); }, "all packets"));
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const Received& got = world[1].received[i];
    EXPECT_EQ(got.from, 0);
    EXPECT_EQ(got.packet.tag, static_cast<int>(i));
    EXPECT_EQ(got.packet.link, i + 1);
    EXPECT_EQ(got.packet.msg, 77u);
    ASSERT_EQ(got.payload.size(), sizes[i]);
    EXPECT_TRUE(std::equal(got.payload.begin(), got.payload.end(), data.begin() + static_cast<std::ptrdiff_t>(i)));
  }
  EXPECT_TRUE(world[0].method().drained());
}

TEST_P(Stream, TellsOwnersOnceWhenLargeDataIsThrough) {
  World world(2, with_buffer(GetParam()));
  world.connect();
  std::vector<std::vector<std::byte>> data;
  std::vector<Request> owners(12);
  std::size_t queued = 0;
  for (std::size_t i = 0; i < owners.size(); ++i) {
    data.push_back(pattern(300000 + i * 50021, static_cast<unsigned>(i)));
    const Payload payload{DataView::contiguous(data[i].data(), data[i].size()), 0, data[i].size()};
    Outcome outcome;
    while ((outcome = world[0].method().send(1, piece_packet(payload.bytes), payload, &owners[i])) == Outcome::retry) {
      world[0].method().poll();
      world[1].method().poll();
    }
    ASSERT_NE(outcome, Outcome::failed);
    if (outcome == Outcome::queued) ++queued;
  }
  ASSERT_TRUE(world.until([&] { return world[1].received.size() == owners.size() && world[0].sent.size() == queued; },
                          "all data"));
  for (std::size_t i = 0; i < data.size(); ++i) {
    EXPECT_EQ(world[1].received[i].payload, data[i]) << i;
    EXPECT_EQ(world[1].received[i].packet.rndv_data.offset, 42u);
  }
  for (const auto& [owner, error] : world[0].sent) EXPECT_EQ(error, Errc::ok);
  EXPECT_TRUE(world[0].method().drained());
}

TEST_P(Stream, CopiesWhatAnOwnerlessSendCouldNotWrite) {
  World world(2, with_buffer(GetParam()));
  world.connect();
  auto data = pattern(900000, 5);
  const auto kept = data;
  ASSERT_TRUE(world[0].send(1, piece_packet(data.size()), DataView::contiguous(data.data(), data.size())));
  std::ranges::fill(data, std::byte{});
  ASSERT_TRUE(world.until([&] { return world[1].received.size() == 1; }, "the data"));
  EXPECT_EQ(world[1].received[0].payload, kept);
}

TEST_P(Stream, SendsAndLandsNonContiguousData) {
  World world(2, with_buffer(GetParam()));
  world.connect();
  const LayoutRef byte = Layout::basic(Basic::u8, 1);
  // Pieces large enough to be gathered, tiny ones that are packed, and one byte at a time.
  for (const auto& [count, block, stride] : {std::tuple{200u, 3000u, 4096}, {5000u, 100u, 128}, {200000u, 1u, 3}}) {
    const LayoutRef layout = Layout::hvector(count, block, stride, *byte);
    const std::size_t extent = count * static_cast<std::size_t>(stride);
    auto from = pattern(extent, count);
    std::vector<std::byte> to(extent, std::byte{0xee});
    const DataView source = layout->view(from.data(), 1);
    world[1].received.clear();
    world[1].arriving = [&](Rank, const Packet& packet) {
      return Landing{layout->view(to.data(), 1), 0, packet.length, nullptr};
    };
    Request owner;
    ASSERT_TRUE(world[0].send(1, piece_packet(source.bytes), source, &owner));
    ASSERT_TRUE(world.until([&] { return world[1].received.size() == 1; }, "the data"));
    for (std::size_t i = 0; i < extent; ++i) {
      const bool data = i % static_cast<std::size_t>(stride) < block;
      ASSERT_EQ(to[i], data ? from[i] : std::byte{0xee}) << "byte " << i << " of blocks of " << block;
    }
  }
}

TEST_P(Stream, DropsWhatALandingDoesNotWant) {
  World world(2, with_buffer(GetParam()));
  world.connect();
  const auto data = pattern(500000, 3);
  for (const std::uint64_t wanted : {0u, 1u, 100000u, 499999u}) {
    std::vector<std::byte> to(500008, std::byte{0xee});
    world[1].received.clear();
    world[1].landed.clear();
    world[1].arriving = [&](Rank, const Packet&) {
      return Landing{DataView::contiguous(to.data(), to.size()), 8, wanted, nullptr};
    };
    Request owner;
    ASSERT_TRUE(world[0].send(1, piece_packet(data.size()), DataView::contiguous(data.data(), data.size()), &owner));
    ASSERT_TRUE(world[0].say(1, 9, "behind it"));
    ASSERT_TRUE(world.until([&] { return world[1].received.size() == 2; }, "both packets"));
    ASSERT_EQ(world[1].landed.size(), 1u);
    EXPECT_EQ(world[1].landed[0].second, Errc::ok);
    EXPECT_EQ(text_of(world[1].received[1]), "behind it");
    EXPECT_TRUE(std::equal(data.begin(), data.begin() + static_cast<std::ptrdiff_t>(wanted), to.begin() + 8));
    EXPECT_TRUE(std::all_of(to.begin() + 8 + static_cast<std::ptrdiff_t>(wanted), to.end(),
                            [](std::byte b) { return b == std::byte{0xee}; }));
  }
}

INSTANTIATE_TEST_SUITE_P(Buffers, Stream, testing::Values(0u, 4096u, 50000u),
                         [](const auto& one) { return "of" + std::to_string(one.param); });

TEST(Burst, CoalescesFollowersOfOneBurstAndTellsTheirOwnersAtThePoll) {
  World world(2);
  world.connect();
  world[0].method().poll();
  std::vector<Request> owners(20);
  int done = 0, queued = 0;
  for (std::size_t i = 0; i < owners.size(); ++i) {
    const Outcome outcome = world[0].method().send(1, short_packet(static_cast<int>(i), 0), {}, &owners[i]);
    (outcome == Outcome::done ? done : queued) += 1;
  }
  EXPECT_GE(done, 1);  // the first, and more when this thread was interrupted
  EXPECT_EQ(world[0].sent.size(), 0u);
  EXPECT_EQ(world[0].method().drained(), queued == 0);
  EXPECT_EQ(world[0].method().arm(), queued == 0);
  world[0].method().poll();
  EXPECT_EQ(world[0].sent.size(), static_cast<std::size_t>(queued));
  EXPECT_TRUE(world[0].method().drained());
  ASSERT_TRUE(world.until([&] { return world[1].received.size() == owners.size(); }, "all packets"));
  for (std::size_t i = 0; i < owners.size(); ++i) EXPECT_EQ(world[1].received[i].packet.tag, static_cast<int>(i));
}

TEST(Burst, NeverHoldsBackAPacketWithoutOwnerOrWhatStandsBeforeIt) {
  World world(2);
  world.connect();
  Request owner;
  for (int i = 0; i < 10; ++i) world[0].method().send(1, short_packet(i, 0), {}, i < 9 ? &owner : nullptr);
  // Only the receiver polls.
  const std::uint64_t until = os::now_ns() + 20000000000u;
  while (world[1].received.size() < 10 && os::now_ns() < until) world[1].method().poll();
  EXPECT_EQ(world[1].received.size(), 10u);
}

TEST(Burst, StopsWaitingForAProgramThatComputesInstead) {
  Burst burst;
  const Burst::Scale scale{20, 100};
  EXPECT_FALSE(burst.may_wait(1, 1000, scale));
  burst.sent(1, 1000, false, scale);
  EXPECT_TRUE(burst.may_wait(1, 1010, scale));
  EXPECT_FALSE(burst.may_wait(1, 1030, scale));  // too late
  EXPECT_FALSE(burst.may_wait(2, 1010, scale));  // a poll lies between
  burst.sent(1, 1010, true, scale);
  burst.flushed(5000, scale);
  int refused = 0;
  for (std::uint64_t t = 6000; refused < 1000; t += 10, ++refused) {
    burst.sent(3, t, false, scale);
    if (burst.may_wait(3, t + 1, scale)) break;
  }
  EXPECT_EQ(refused, 64);
}

TEST(Upcalls, MaySendAndTheAnswerLeavesWithTheSamePoll) {
  World world(2);
  world.connect();
  world[1].on_packet = [&](const Received& got) {
    if (got.packet.tag < 1000) world[1].method().send(0, short_packet(got.packet.tag + 1000, 0), {}, nullptr);
  };
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(world[0].say(1, i));
  ASSERT_TRUE(world.until([&] { return world[0].received.size() == 100; }, "all answers"));
  for (int i = 0; i < 100; ++i) EXPECT_EQ(world[0].received[static_cast<std::size_t>(i)].packet.tag, i + 1000);
}

TEST(Sizes, BeyondTwoGigabytesOfViewAreSentFromTheirOffset) {
  // The view is sparse: only the piece at its end is touched.
  World world(2);
  world.connect();
  const auto data = pattern(100000, 9);
  Payload payload{DataView::contiguous(data.data() - (std::uint64_t{5} << 30), std::uint64_t{6} << 30),
                  std::uint64_t{5} << 30, data.size()};
  Request owner;
  while (world[0].method().send(1, piece_packet(data.size()), payload, &owner) == Outcome::retry) {
    world[0].method().poll();
  }
  ASSERT_TRUE(world.until([&] { return world[1].received.size() == 1; }, "the piece"));
  EXPECT_EQ(world[1].received[0].payload, data);
}

}  // namespace
}  // namespace rmq::tcp::test
