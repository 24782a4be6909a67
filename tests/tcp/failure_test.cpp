// SPDX-License-Identifier: BSD-3-Clause
// Peers that die.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <optional>

#include "base/os/clock.hpp"
#include "forked/forked.hpp"
#include "tcp/node.hpp"

namespace rmq::tcp::test {
namespace {

using methods::Landing;
using methods::Outcome;

// Rank 1 as a child that runs `life`; rank 0 is this process.
struct Pair {
  explicit Pair(const std::function<void(Node&)>& life, const Config& config = {}) : child(::fork()) {
    if (child == 0) {
      const auto boot1 = job.join(1);
      Node mine(*boot1, config);
      if (mine.is_open()) life(mine);
      ::_exit(0);
    }
    node.emplace(*boot, config);
  }
  ~Pair() { kill(); }
  void kill() {
    if (child <= 0) return;
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    child = 0;
  }
  bool until(const std::function<bool()>& done) {
    const std::uint64_t end = os::now_ns() + 20000000000u;
    while (!done() && os::now_ns() < end) node->method().poll();
    return done();
  }
  const rmq::test::ForkedJob job{2};  // before the fork
  pid_t child;
  const std::unique_ptr<Bootstrap> boot = job.join(0);
  std::optional<Node> node;
};

void poll_for_ever(Node& node) {
  for (;;) node.method().poll();
}

void expect_lost_once(Pair& pair) {
  Node& node = *pair.node;
  ASSERT_EQ(node.lost.size(), 1u);
  EXPECT_EQ(node.lost[0].first, 1);
  EXPECT_NE(node.lost[0].second.what.find("rank 1 at 127.0.0.1:"), std::string::npos) << node.lost[0].second.what;
  EXPECT_EQ(node.method().send(1, short_packet(1, 0), {}, nullptr), Outcome::failed);
  for (int i = 0; i < 100; ++i) node.method().poll();
  EXPECT_EQ(node.lost.size(), 1u);
  EXPECT_TRUE(node.method().drained());
  node.method().close();
  EXPECT_EQ(node.lost.size(), 1u);
}

TEST(DeadPeer, IsReportedByName) {
  Pair pair(poll_for_ever);
  ASSERT_TRUE(pair.node->say(1, 1));
  pair.kill();
  ASSERT_TRUE(pair.until([&] { return !pair.node->lost.empty(); }));
  expect_lost_once(pair);
}

// What a rank forks has copies of its sockets, and may live on.
TEST(DeadPeer, IsNotHiddenByAProcessThatItHasForked) {
  Pair pair([](Node& node) {
    while (node.received.empty()) node.method().poll();
    if (::fork() == 0) {
      for (const int fd : {0, 1, 2}) ::close(fd);  // or whoever reads our output waits for it
      ::alarm(60);
      for (;;) ::pause();
    }
    node.say(0, 2);
    poll_for_ever(node);
  });
  ASSERT_TRUE(pair.node->say(1, 1));
  ASSERT_TRUE(pair.until([&] { return !pair.node->received.empty(); }));
  pair.kill();
  ASSERT_TRUE(pair.until([&] { return !pair.node->lost.empty(); }));
  expect_lost_once(pair);
}

// Whoever is told of an end waits for the loss: it follows whatever the two have said to each other before.
enum class Before { nothing, a_word, good_bye, answered_good_bye };

class EndedPeer : public ::testing::TestWithParam<Before> {};

TEST_P(EndedPeer, IsLost) {
  Pair pair([](Node& node) {
    while (node.received.empty()) node.method().poll();
    if (text_of(node.received[0]) == "leave") node.method().close();
    poll_for_ever(node);
  });
  TcpMethod& method = pair.node->method();
  const bool leaves = GetParam() == Before::good_bye || GetParam() == Before::answered_good_bye;
  if (GetParam() != Before::nothing) {
    ASSERT_TRUE(pair.node->say(1, 1, leaves ? "leave" : "stay"));
  }
  if (leaves) {
    while (!method.arm()) method.poll();
    pair.node->doorbell().wait(20000000000);  // for the good-bye
    method.disarm();
  }
  // It stands there as one that has left.
  if (GetParam() == Before::answered_good_bye) {
    for (int i = 0; i < 1000; ++i) method.poll();
  }
  method.ended(1, {Errc::peer_lost, "its process has ended"});
  ASSERT_TRUE(pair.until([&] { return !pair.node->lost.empty(); }));
  EXPECT_EQ(pair.node->lost[0].second.what, "its process has ended");
  for (int i = 0; i < 100; ++i) method.poll();
  EXPECT_EQ(pair.node->lost.size(), 1u);
}

INSTANTIATE_TEST_SUITE_P(All, EndedPeer,
                         ::testing::Values(Before::nothing, Before::a_word, Before::good_bye,
                                           Before::answered_good_bye));

TEST(DeadPeer, EndsASleep) {
  Pair pair(poll_for_ever);
  ASSERT_TRUE(pair.node->say(1, 1));
  pair.kill();
  const std::uint64_t start = os::now_ns();
  while (pair.node->lost.empty() && os::now_ns() - start < 15000000000u) {
    if (pair.node->method().poll() > 0) continue;
    if (pair.node->method().arm()) pair.node->doorbell().wait(20000000000);
    pair.node->method().disarm();
  }
  EXPECT_LT(os::now_ns() - start, 15000000000u);
  expect_lost_once(pair);
}

TEST(DeadPeer, FailsTheOwnersOfQueuedData) {
  Pair pair([](Node& node) {
    // It takes the first packet and then reads no more.
    while (node.received.empty()) node.method().poll();
    ::pause();
  });
  ASSERT_TRUE(pair.node->say(1, 1));
  const auto data = pattern(8 << 20, 1);
  Packet packet(Kind::RNDV_DATA);
  packet.length = static_cast<std::uint32_t>(data.size());
  const Payload payload{DataView::contiguous(data.data(), data.size()), 0, data.size()};
  std::vector<Request> owners(8);
  std::vector<Request*> queued;
  for (auto& owner : owners) {
    if (pair.node->method().send(1, packet, payload, &owner) == Outcome::queued) queued.push_back(&owner);
    pair.node->method().poll();
  }
  // It is full at last: a small packet with an owner still finds room in the buffer only if no data stands there.
  ASSERT_FALSE(queued.empty());
  pair.kill();
  ASSERT_TRUE(pair.until([&] { return !pair.node->lost.empty(); }));
  ASSERT_EQ(pair.node->sent.size(), queued.size());
  EXPECT_EQ(pair.node->sent.back().second, Errc::peer_lost);
  expect_lost_once(pair);
}

TEST(DeadPeer, FailsALandingThatIsUnderWay) {
  Pair pair([](Node& node) {
    const auto data = pattern(8 << 20, 1);
    Packet packet(Kind::RNDV_DATA);
    packet.length = static_cast<std::uint32_t>(data.size());
    Request owner;
    const Payload payload{DataView::contiguous(data.data(), data.size()), 0, data.size()};
    while (node.method().send(0, packet, payload, &owner) == Outcome::retry) node.method().poll();
    ::pause();  // with the socket full and the rest unsent
  });
  std::vector<std::byte> to(8 << 20);
  Request request;
  bool arriving = false;
  pair.node->arriving = [&](Rank, const Packet& packet) {
    arriving = true;
    return Landing{DataView::contiguous(to.data(), to.size()), 0, packet.length, &request};
  };
  ASSERT_TRUE(pair.until([&] { return arriving; }));
  pair.kill();
  ASSERT_TRUE(pair.until([&] { return !pair.node->lost.empty(); }));
  ASSERT_EQ(pair.node->landed.size(), 1u);
  EXPECT_EQ(pair.node->landed[0].first.owner, &request);
  EXPECT_EQ(pair.node->landed[0].second, Errc::peer_lost);
  expect_lost_once(pair);
}

TEST(DeadPeer, HasItsLastWordsHeard) {
  Pair pair([](Node& node) {
    for (int i = 0; i < 100; ++i) node.say(0, i, "last words");
    ::kill(::getpid(), SIGKILL);
  });
  ASSERT_TRUE(pair.until([&] { return !pair.node->lost.empty(); }));
  EXPECT_EQ(pair.node->received.size(), 100u);
  expect_lost_once(pair);
}

TEST(DeadPeer, ThatWasNeverReachedIsReportedAfterTheTimeLimit) {
  Config config;
  config.tcp_connect = 300000000;
  Pair pair([](Node&) {}, config);
  ::waitpid(pair.child, nullptr, 0);
  pair.child = 0;
  const std::uint64_t start = os::now_ns();
  EXPECT_EQ(pair.node->method().send(1, short_packet(1, 0), {}, nullptr), Outcome::retry);
  ASSERT_TRUE(pair.until([&] { return !pair.node->lost.empty(); }));
  EXPECT_GE(os::now_ns() - start, 300000000u);
  EXPECT_NE(pair.node->lost[0].second.what.find("Connection refused"), std::string::npos);
  expect_lost_once(pair);
}

TEST(DeadPeer, ThatIsStillToBeReachedEndsASleepToo) {
  Config config;
  config.tcp_connect = 300000000;
  Pair pair([](Node&) {}, config);
  ::waitpid(pair.child, nullptr, 0);
  pair.child = 0;
  const std::uint64_t start = os::now_ns();
  EXPECT_EQ(pair.node->method().send(1, short_packet(1, 0), {}, nullptr), Outcome::retry);
  while (pair.node->lost.empty() && os::now_ns() - start < 15000000000u) {
    if (pair.node->method().poll() > 0) continue;
    if (pair.node->method().arm()) pair.node->doorbell().wait(20000000000);
    pair.node->method().disarm();
  }
  EXPECT_LT(os::now_ns() - start, 15000000000u);
  expect_lost_once(pair);
}

}  // namespace
}  // namespace rmq::tcp::test
