// SPDX-License-Identifier: BSD-3-Clause
// Hosts that fall silent, interfaces that fail: rank 1 in a network namespace of its own, which two cables join with
// that of rank 0. As root only.
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <optional>
#include <string>

#include "base/os/clock.hpp"
#include "forked/forked.hpp"
#include "tcp/node.hpp"

namespace rmq::tcp::test {
namespace {

using methods::Outcome;

bool sh(const std::string& command) {
  return std::system((command + " 2>/dev/null").c_str()) == 0;
}

// Looks for what has come. What is waited for here takes seconds, which others may compute.
void look(Node& node) {
  if (node.method().poll() == 0) ::usleep(100);
}

// The kernel finds a moment after both ends are up that a cable has a carrier.
void await_carriers() {
  const auto has_both = [] {
    const auto interfaces = list_interfaces();
    return interfaces && std::ranges::count_if(*interfaces, [](const Interface& one) {
                           return one.up && one.address.is_v4() && !one.address.is_loopback();
                         }) == 2;
  };
  for (const std::uint64_t end = os::now_ns() + 20'000'000'000u; !has_both() && os::now_ns() < end;) ::usleep(1000);
}

class Hosts : public testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0 || !sh("ip netns list >/dev/null")) GTEST_SKIP() << "missing here: root, or ip (iproute2)";
  }
  void TearDown() override { end(); }

  // Rank 1 lives `life` in another namespace; rank 0 is this process, in a namespace of its own as well.
  void start(const std::function<void(Node&)>& life, Config config = {}) {
    config.tcp_interface = "10.77.1.0/24,10.77.2.0/24";
    int ready[2], go[2];
    ASSERT_EQ(::pipe(ready), 0);
    ASSERT_EQ(::pipe(go), 0);
    if (::unshare(CLONE_NEWNET) != 0) GTEST_SKIP() << "missing here: network namespaces";
    child_ = ::fork();
    if (child_ == 0) {
      char byte = 'r';
      if (::unshare(CLONE_NEWNET) != 0 || ::write(ready[1], &byte, 1) != 1 || ::read(go[0], &byte, 1) != 1) ::_exit(1);
      for (const char n : {'1', '2'}) {
        sh(std::string("ip addr add 10.77.") + n + ".2/24 dev there" + n + " && ip link set there" + n + " up");
      }
      await_carriers();
      if (::write(ready[1], &byte, 1) != 1) ::_exit(1);
      const auto boot = job_.join(1);
      std::optional<Node> mine;
      mine.emplace(*boot, config);
      if (mine->is_open()) life(*mine);
      ::_exit(0);
    }
    char byte = 'g';
    ASSERT_EQ(::read(ready[0], &byte, 1), 1);
    for (const char n : {'1', '2'}) {
      const std::string here = std::string("here") + n, there = std::string("there") + n;
      ASSERT_TRUE(sh("ip link add " + here + " type veth peer name " + there + " netns " + std::to_string(child_)));
      ASSERT_TRUE(sh(std::string("ip addr add 10.77.") + n + ".1/24 dev " + here + " && ip link set " + here + " up"));
    }
    ASSERT_EQ(::write(go[1], &byte, 1), 1);
    await_carriers();
    ASSERT_EQ(::read(ready[0], &byte, 1), 1);
    boot_ = job_.join(0);
    node_.emplace(*boot_, config);
    ASSERT_TRUE(node_->is_open()) << node_->open_error().what;
  }
  void end() {
    if (child_ > 0) {
      ::kill(child_, SIGKILL);
      ::waitpid(child_, nullptr, 0);
    }
    child_ = 0;
  }
  // Nothing gets through that cable any more, in either direction and without a word: unlike a link that is down.
  static void silence(char n) {
    ASSERT_TRUE(sh(std::string("tc qdisc add dev here") + n + " root netem loss 100%") ||
                sh(std::string("ip link set here") + n + " down"));
  }
  static void restore(char n) {
    if (!sh(std::string("tc qdisc del dev here") + n + " root")) sh(std::string("ip link set here") + n + " up");
  }
  bool until(const std::function<bool()>& done, std::uint64_t seconds = 20) {
    const std::uint64_t limit = os::now_ns() + seconds * 1'000'000'000;
    while (!done() && os::now_ns() < limit) look(*node_);
    return done();
  }
  Node& node() { return *node_; }

 private:
  const rmq::test::ForkedJob job_{2};
  pid_t child_ = 0;
  std::unique_ptr<Bootstrap> boot_;
  std::optional<Node> node_;
};

void echo(Node& node) {
  node.on_packet = [&](const Received& got) { node.method().send(0, short_packet(got.packet.tag, 0), {}, nullptr); };
  for (;;) look(node);
}

// Hosts may be silent for so long; a rank's silence is then named after four fifths of it.
Config impatient() {
  Config config;
  config.tcp_silence = 2'000'000'000;
  return config;
}

TEST_F(Hosts, ThatFallSilentAreNamed) {
  ASSERT_NO_FATAL_FAILURE(start(echo, impatient()));
  if (IsSkipped()) return;
  ASSERT_TRUE(node().say(1, 1));
  ASSERT_TRUE(until([&] { return node().received.size() == 1; }));
  silence('1');
  silence('2');
  const std::uint64_t start = os::now_ns();
  ASSERT_TRUE(until([&] { return !node().lost.empty(); }));
  const double seconds = static_cast<double>(os::now_ns() - start) / 1e9;
  std::printf("silent host named after %.1f s: %s\n", seconds, node().lost[0].second.what.c_str());
  EXPECT_GT(seconds, 1.0);
  EXPECT_NE(node().lost[0].second.what.find("rank 1"), std::string::npos);
  EXPECT_NE(node().lost[0].second.what.find("timed out"), std::string::npos);
}

// The first address leads nowhere from the beginning. The second is tried long before the first has had its part of the
// time that a connection may take, 50 s here.
TEST_F(Hosts, AreReachedSoonByTheInterfaceThatWorks) {
  Config patient;
  patient.tcp_connect = 200'000'000'000;
  ASSERT_NO_FATAL_FAILURE(start(echo, patient));
  if (IsSkipped()) return;
  silence('1');
  ASSERT_TRUE(node().say(1, 1));
  ASSERT_TRUE(until([&] { return node().received.size() == 1; }));
}

TEST_F(Hosts, AreReachedByAnotherInterfaceWhenOneFails) {
  ASSERT_NO_FATAL_FAILURE(start(echo));
  if (IsSkipped()) return;
  ASSERT_TRUE(node().say(1, 1));
  ASSERT_TRUE(until([&] { return node().received.size() == 1; }));
  silence('1');
  for (int i = 2; i <= 100; ++i) ASSERT_TRUE(node().say(1, i));
  ASSERT_TRUE(until([&] { return node().received.size() == 100 || !node().lost.empty(); }));
  EXPECT_TRUE(node().lost.empty()) << node().lost[0].second.what;
  for (int i = 0; i < 100; ++i) EXPECT_EQ(node().received[static_cast<std::size_t>(i)].packet.tag, i + 1);
  EXPECT_EQ(node().method().remade(), 1u);
}

TEST_F(Hosts, ThatAreAwayForAMomentAreNotLost) {
  ASSERT_NO_FATAL_FAILURE(start(echo));
  if (IsSkipped()) return;
  ASSERT_TRUE(node().say(1, 1));
  ASSERT_TRUE(until([&] { return node().received.size() == 1; }));
  silence('1');
  silence('2');
  ASSERT_TRUE(node().say(1, 2));
  for (const std::uint64_t end = os::now_ns() + 1'500'000'000; os::now_ns() < end;) look(node());
  restore('1');
  restore('2');
  ASSERT_TRUE(until([&] { return node().received.size() == 2 || !node().lost.empty(); }));
  EXPECT_TRUE(node().lost.empty()) << node().lost[0].second.what;
}

// A rank that computes and does not read for longer than a host may be silent.
TEST_F(Hosts, WhoseRankMerelyComputesAreNotLost) {
  ASSERT_NO_FATAL_FAILURE(start(
      [](Node& node) {
        while (node.received.empty()) look(node);
        ::usleep(3'000'000);
        echo(node);
      },
      impatient()));
  if (IsSkipped()) return;
  ASSERT_TRUE(node().say(1, 1));
  // More than the sockets hold, so that the window closes.
  const auto data = pattern(8 << 20, 1);
  Packet packet(Kind::RNDV_DATA);
  packet.length = static_cast<std::uint32_t>(data.size());
  std::vector<Request> owners(3);
  for (Request& owner : owners) {
    ASSERT_TRUE(node().send(1, packet, DataView::contiguous(data.data(), data.size()), &owner));
  }
  ASSERT_TRUE(until([&] { return node().sent.size() == owners.size() || !node().lost.empty(); }, 30));
  EXPECT_TRUE(node().lost.empty()) << node().lost[0].second.what;
}

}  // namespace
}  // namespace rmq::tcp::test
