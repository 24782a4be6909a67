// SPDX-License-Identifier: BSD-3-Clause
// Floods: memory stays under its ceiling, nothing is lost, and what a receiver asks for gets through.
#include "conformance/fixture.hpp"

namespace rmq::testing {
namespace {

// Few enough credits that every flood runs out of them.
void scarce(Config& c) {
  c.unexpected_max = 1;
}

std::uint64_t ceiling(adi::Device& d) {
  return d.unexpected_ceiling() + d.counters().envelopes_granted * adi::kMessageRecord;
}

TEST_P(Conformance, AFloodToALateReceiverStaysUnderTheCeiling) {
  for (std::size_t bytes : {std::size_t{0}, std::size_t{1000}, std::size_t{50000}}) {
    ASSERT_TRUE(open(2, scarce));
    const int count = bytes > 10000 ? 300 : 3000;
    const Buffer data = message(1, bytes);
    std::vector<Request*> sends;
    for (int i = 0; i < count; ++i) sends.push_back(world().isend(0, 1, i, data));
    world().settle();
    EXPECT_LE(rank(1).counters().unexpected_peak, ceiling(rank(1)));
    EXPECT_GT(rank(1).counters().unexpected, 0u);
    for (int i = 0; i < count; ++i) {
      Buffer into(bytes, Shape::contiguous);
      Request* r = world().irecv(1, 0, kAnyTag, into);
      ASSERT_TRUE(world().wait(r, "a message of the flood"));
      expect_message(1, r, into, 1, bytes, 0, i);
    }
    ASSERT_TRUE(world().wait_all(sends, "the flood's sends"));
    for (Request* s : sends) expect_sent(0, s);
    EXPECT_LE(rank(1).counters().unexpected_peak, ceiling(rank(1)));
    world().settle();
    expect_clean();
  }
}

TEST_P(Conformance, AReceiveBehindAFloodOfOtherMessagesCompletes) {
  ASSERT_TRUE(open(2, scarce));
  constexpr int kFlood = 10000;
  const Buffer noise = message(1, 100), wanted = message(2, 100);
  std::vector<Request*> sends;
  for (int i = 0; i < kFlood; ++i) sends.push_back(world().isend(0, 1, 0, noise));
  sends.push_back(world().isend(0, 1, 1, wanted));
  Buffer into(100, Shape::contiguous);
  Request* recv = world().irecv(1, 0, 1, into);
  ASSERT_TRUE(world().wait(recv, "a receive of tag 1 behind 10,000 messages of tag 0"));
  expect_message(1, recv, into, 2, 100, 0, 1);
  EXPECT_LE(rank(1).counters().unexpected_peak, ceiling(rank(1)));
  for (int i = 0; i < kFlood; ++i) {
    Request* r = world().irecv(1, kAnySource, 0, into);
    ASSERT_TRUE(world().wait(r, "a message of the flood"));
    world().free(1, r);
  }
  ASSERT_TRUE(world().wait_all(sends, "the flood's sends"));
  for (Request* s : sends) expect_sent(0, s);
  world().settle();
  expect_clean();
}

TEST_P(Conformance, FloodsInBothDirectionsFinish) {
  ASSERT_TRUE(open(2, scarce));
  constexpr int kCount = 1500;
  const std::size_t sizes[] = {40, eager_max() + 10, 3000, 0};
  std::vector<Buffer> data;
  for (std::size_t s : sizes) data.push_back(message(s + 1, s));
  std::vector<Request*> sends[2];
  for (int i = 0; i < kCount; ++i) {
    for (int r : {0, 1}) sends[r].push_back(world().isend(r, 1 - r, i, data[static_cast<std::size_t>(i % 4)]));
  }
  for (int i = 0; i < kCount; ++i) {
    const std::size_t bytes = sizes[i % 4];
    Buffer into0(bytes, Shape::contiguous), into1(bytes, Shape::contiguous);
    Request* r0 = world().irecv(0, 1, i, into0);
    Request* r1 = world().irecv(1, 0, i, into1);
    ASSERT_TRUE(world().wait_all({r0, r1}, "both directions"));
    expect_message(0, r0, into0, bytes + 1, bytes, 1, i);
    expect_message(1, r1, into1, bytes + 1, bytes, 0, i);
  }
  for (int r : {0, 1}) {
    ASSERT_TRUE(world().wait_all(sends[r], "the sends of a flood"));
    for (Request* s : sends[r]) expect_sent(r, s);
    EXPECT_LE(rank(r).counters().unexpected_peak, ceiling(rank(r)));
  }
  world().settle();
  expect_clean();
}

TEST_P(Conformance, ManyLongMessagesAtOnceFinish) {
  ASSERT_TRUE(open(3));
  constexpr int kCount = 24;
  constexpr std::size_t kBytes = 700001;
  std::vector<Buffer> data, into;
  std::vector<Request*> recvs;
  std::vector<std::pair<int, Request*>> sends;
  for (int i = 0; i < kCount; ++i) {
    data.push_back(message(static_cast<std::uint64_t>(i), kBytes));
    into.emplace_back(kBytes, Shape::contiguous);
  }
  for (int i = 0; i < kCount; ++i) {
    const int from = i % 3, to = (i + 1 + i % 2) % 3;
    sends.emplace_back(from, world().isend(from, to, i, data[static_cast<std::size_t>(i)]));
    recvs.push_back(world().irecv(to, from, i, into[static_cast<std::size_t>(i)]));
  }
  ASSERT_TRUE(world().wait_all(recvs, "long messages"));
  for (int i = 0; i < kCount; ++i) {
    const auto k = static_cast<std::size_t>(i);
    const int from = i % 3, to = (i + 1 + i % 2) % 3;
    expect_message(to, recvs[k], into[k], k, kBytes, from, i);
    ASSERT_TRUE(world().wait(sends[k].second, "a long send"));
    expect_sent(from, sends[k].second);
  }
  world().settle();
  expect_clean();
}

}  // namespace
}  // namespace rmq::testing
