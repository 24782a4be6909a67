// SPDX-License-Identifier: BSD-3-Clause
// How connections come about and end in good order.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <string_view>
#include <thread>

#include "base/os/clock.hpp"
#include "tcp/node.hpp"

namespace rmq::tcp::test {
namespace {

using methods::Outcome;

Config on(const char* interface) {
  Config config;
  config.tcp_interface = interface;
  return config;
}

int connections(World& world) {
  int sum = 0;
  for (auto& node : world.nodes) sum += node->method().connections();
  return sum;
}

TEST(Connect, HappensOnFirstUseOnly) {
  World world(4);
  for (int i = 0; i < 100; ++i) {
    for (auto& node : world.nodes) node->method().poll();
  }
  EXPECT_EQ(connections(world), 0);
  EXPECT_FALSE(world[2].method().reaches(2));
  EXPECT_TRUE(world[2].method().reaches(3));
  EXPECT_FALSE(world[2].method().reaches(4));
  ASSERT_TRUE(world[2].say(0, 5, "first"));
  ASSERT_TRUE(world.until([&] { return world[0].received.size() == 1; }, "the packet"));
  EXPECT_EQ(text_of(world[0].received[0]), "first");
  EXPECT_EQ(connections(world), 2);
}

TEST(Connect, WorksOverBothFamiliesByNameNetworkAndAddress) {
  for (const char* interface : {"lo", "127.0.0.0/8", "127.0.0.1", "::1/128", "::1"}) {
    World world(2, on(interface));
    world.connect();
    EXPECT_EQ(connections(world), 2) << interface;
  }
}

TEST(Connect, FindsRanksOfPretendedHostsOnTheSameMachine) {
  World world(4, {}, {0, 0, 1, 1});
  ASSERT_TRUE(world[0].say(3, 1));
  ASSERT_TRUE(world.until([&] { return world[3].received.size() == 1; }, "the packet"));
}

// Both call at the same moment, in every order of polls that the round number spells.
TEST(Connect, MakesOneConnectionOfTwoSimultaneousCalls) {
  for (unsigned round = 0; round < 256; ++round) {
    World world(2);
    EXPECT_EQ(world[0].method().send(1, short_packet(1, 0), {}, nullptr), Outcome::retry);
    if (round % 2 == 0) {
      EXPECT_EQ(world[1].method().send(0, short_packet(1, 0), {}, nullptr), Outcome::retry);
    }
    for (unsigned step = 1; step < 8; ++step) world[(round >> step) & 1].method().poll();
    EXPECT_NE(world[1].method().send(0, short_packet(1, 0), {}, nullptr), Outcome::failed);
    ASSERT_TRUE(world[0].say(1, 2));
    ASSERT_TRUE(world[1].say(0, 2));
    const auto last_came = [](Node& node) {
      return std::ranges::any_of(node.received, [](const Received& got) { return got.packet.tag == 2; });
    };
    ASSERT_TRUE(world.until([&] { return last_came(world[0]) && last_came(world[1]); }, "both packets")) << round;
    EXPECT_EQ(connections(world), 2) << round;
    EXPECT_TRUE(world[0].lost.empty() && world[1].lost.empty()) << round;
  }
}

TEST(Connect, JoinsAllWithAllInThreads) {
  constexpr int kRanks = 8;
  World world(kRanks);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < kRanks; ++rank) {
    threads.emplace_back([&, rank] {
      Node& node = world[rank];
      node.others.clear();
      for (int step = 1; step < kRanks; ++step) node.say((rank + step) % kRanks, rank);
      const std::uint64_t until = os::now_ns() + 20000000000u;
      while (node.received.size() < kRanks - 1 && os::now_ns() < until) node.method().poll();
      // The others may still wait for an answer to their call.
      while (node.method().connections() < kRanks - 1 && os::now_ns() < until) node.method().poll();
    });
  }
  for (auto& thread : threads) thread.join();
  for (int rank = 0; rank < kRanks; ++rank) {
    EXPECT_EQ(world[rank].received.size(), static_cast<std::size_t>(kRanks - 1));
    EXPECT_EQ(world[rank].method().connections(), kRanks - 1);
    EXPECT_TRUE(world[rank].lost.empty());
  }
}

TEST(Connect, ManyPeersAreAllHeard) {
  constexpr int kRanks = 20;
  World world(kRanks);
  for (int round = 0; round < 5; ++round) {
    for (int rank = 1; rank < kRanks; ++rank) ASSERT_TRUE(world[rank].say(0, rank + 100 * round));
  }
  ASSERT_TRUE(world.until([&] { return world[0].received.size() == 5 * (kRanks - 1); }, "all packets"));
  for (int rank = 1; rank < kRanks; ++rank) ASSERT_TRUE(world[0].say(rank, 7));
  for (int rank = 1; rank < kRanks; ++rank) {
    ASSERT_TRUE(world.until([&] { return world[rank].received.size() == 1; }, "the answer"));
  }
}

TEST(Connect, WaitsForARankThatDoesNotPollLongerThanTheTimeLimit) {
  Config config;
  config.tcp_connect = 50000000;
  World world(2, config);
  const std::uint64_t until = os::now_ns() + 400000000u;
  while (os::now_ns() < until) {
    EXPECT_EQ(world[0].method().send(1, short_packet(1, 0), {}, nullptr), Outcome::retry);
    world[0].method().poll();
  }
  EXPECT_TRUE(world[0].lost.empty());
  ASSERT_TRUE(world[0].say(1, 2));
  EXPECT_TRUE(world.until([&] { return world[1].received.size() == 1; }, "the packet"));
}

// What failed before a connection stood for long does not count when that one fails.
TEST(Connect, CountsTheLimitAnewBehindAConnectionThatStood) {
  const auto boots = local_bootstraps(2);
  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  Endpoint endpoint(boost::asio::ip::address_v4::loopback(), 0);
  socklen_t length = static_cast<socklen_t>(endpoint.size());
  ASSERT_EQ(::bind(listener, endpoint.data(), length), 0);
  ASSERT_EQ(::getsockname(listener, endpoint.data(), &length), 0);
  ASSERT_TRUE(boots[1]->put("tcp.1", format_place({machine_identity(), {endpoint}})));
  Config config;
  config.tcp_connect = 1'000'000'000;
  Node caller(*boots[0], config);
  const auto poll_for = [&](std::uint64_t ms) {
    for (const std::uint64_t until = os::now_ns() + ms * 1'000'000; os::now_ns() < until; ::usleep(100))
      caller.method().poll();
  };
  const auto accept = [&] {
    int fd = -1;
    while ((fd = ::accept(listener, nullptr, nullptr)) < 0 && caller.lost.empty()) poll_for(1);
    return fd;
  };
  ASSERT_EQ(caller.method().send(1, short_packet(1, 0), {}, nullptr), Outcome::retry);
  poll_for(10);  // nobody listens
  ASSERT_EQ(::listen(listener, 8), 0);
  const int stood = accept();
  ASSERT_GE(stood, 0);
  poll_for(1500);
  ::close(stood);
  const int next = accept();
  EXPECT_GE(next, 0) << caller.lost[0].second.what;
  ::close(next);
  ::close(listener);
}

// A full listener drops what comes, as an address does that leads nowhere. Its part of the time that a connection may
// take is 50 s here.
TEST(Connect, TriesTheNextAddressSoonWhenOneSwallowsCalls) {
  const auto boots = local_bootstraps(2);
  std::vector<Endpoint> endpoints;
  int listeners[2];
  for (int& listener : listeners) {
    listener = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    Endpoint endpoint(boost::asio::ip::address_v4::loopback(), 0);
    socklen_t length = static_cast<socklen_t>(endpoint.size());
    ASSERT_EQ(::bind(listener, endpoint.data(), length), 0);
    ASSERT_EQ(::getsockname(listener, endpoint.data(), &length), 0);
    ASSERT_EQ(::listen(listener, 0), 0);
    endpoints.push_back(endpoint);
  }
  std::vector<int> crowd;
  for (int i = 0; i < 4; ++i) {
    crowd.push_back(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    ::connect(crowd.back(), endpoints[0].data(), static_cast<socklen_t>(endpoints[0].size()));
  }
  ASSERT_TRUE(boots[1]->put("tcp.1", format_place({machine_identity(), endpoints})));
  Config config;
  config.tcp_connect = 200'000'000'000;
  Node caller(*boots[0], config);
  const std::uint64_t start = os::now_ns();
  ASSERT_EQ(caller.method().send(1, short_packet(1, 0), {}, nullptr), Outcome::retry);
  int fd = -1;
  while ((fd = ::accept(listeners[1], nullptr, nullptr)) < 0 && os::now_ns() < start + 20'000'000'000u) {
    caller.method().poll();
  }
  EXPECT_GE(fd, 0);
  for (const int one : {fd, listeners[0], listeners[1]}) ::close(one);
  for (const int one : crowd) ::close(one);
}

TEST(Open, NamesAPortThatIsTaken) {
  // The kernel says which port is free, and keeps it for us: whoever else listens on this machine cannot come between.
  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  Endpoint taken(boost::asio::ip::address_v4::loopback(), 0);
  auto length = static_cast<socklen_t>(taken.size());
  ASSERT_EQ(::bind(listener, taken.data(), length), 0);
  ASSERT_EQ(::getsockname(listener, taken.data(), &length), 0);
  ASSERT_EQ(::listen(listener, 1), 0);
  const auto boots = local_bootstraps(2);
  Config config;
  config.tcp_port = taken.port() - 1u;
  Node node(*boots[1], config);
  ::close(listener);
  ASSERT_FALSE(node.is_open());
  EXPECT_EQ(node.open_error().code, Errc::config);
  EXPECT_NE(node.open_error().what.find(std::to_string(taken.port())), std::string::npos);
  EXPECT_NE(node.open_error().what.find("RMQ_TCP_PORT"), std::string::npos);
}

TEST(Open, NamesAnInterfaceThatIsMissing) {
  const auto boots = local_bootstraps(2);
  Node node(*boots[0], on("nosuch0"));
  ASSERT_FALSE(node.is_open());
  EXPECT_EQ(node.open_error().code, Errc::config);
  EXPECT_NE(node.open_error().what.find("nosuch0"), std::string::npos);
  EXPECT_NE(node.open_error().what.find("127.0.0.1"), std::string::npos);
}

TEST(Open, KeepsDescriptorsFromProgramsThatTheRankStarts) {
  World world(2);
  world.connect();
  for (int fd = 3; fd < 256; ++fd) {
    const int flags = ::fcntl(fd, F_GETFD);
    if (flags < 0) continue;
    char link[64] = {}, path[64];
    std::snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (::readlink(path, link, sizeof link - 1) > 0 && std::string_view(link).starts_with("socket:")) {
      EXPECT_TRUE(flags & FD_CLOEXEC) << "fd " << fd;
    }
  }
}

TEST(Close, LosesNothingAndIsNoDeath) {
  World world(3);
  const auto data = pattern(60000, 4);
  for (int i = 0; i < 50; ++i) {
    ASSERT_TRUE(world[0].send(1, short_packet(i, data.size()), DataView::contiguous(data.data(), data.size())));
  }
  ASSERT_TRUE(world[2].say(0, 1));
  std::vector<std::thread> threads;
  for (auto& node : world.nodes) threads.emplace_back([&] { node->method().close(); });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(world[1].received.size(), 50u);
  for (auto& node : world.nodes) {
    EXPECT_TRUE(node->lost.empty());
    EXPECT_EQ(node->method().connections(), 0);
    EXPECT_TRUE(node->method().drained());
  }
}

TEST(Close, IsSwiftWhenThePeerMerelyPolls) {
  World world(2);
  world.connect();
  std::atomic<bool> closed{false};
  std::thread closer([&] {
    world[0].method().close();
    closed = true;
  });
  while (!closed) world[1].method().poll();
  closer.join();
  EXPECT_TRUE(world[1].lost.empty());
  // Who then still wants something from it has lost it.
  EXPECT_EQ(world[1].method().send(0, short_packet(1, 0), {}, nullptr), Outcome::failed);
  world[1].method().poll();
  ASSERT_EQ(world[1].lost.size(), 1u);
  EXPECT_NE(world[1].lost[0].second.what.find("left the job"), std::string::npos);
}

// At the end of a job a rank may have something to say to one that has left, and that it has never called: that is lost
// at once.
TEST(Close, KeepsNobodyUpWhoCallsAfterwards) {
  Config config;
  config.tcp_connect = 3600'000'000'000;  // ns
  World world(3, config);
  world.nodes[1].reset();
  EXPECT_EQ(world[0].offer(1, short_packet(1, 0), {}, nullptr), Outcome::retry);
  world[0].method().ending();
  while (world[0].lost.empty()) world[0].method().poll();
  EXPECT_EQ(world[0].lost[0].first, 1);
  EXPECT_TRUE(world[0].method().drained());
}

// A rank sleeps as the device does: arm, wait, disarm, poll. Every wait must end by what it waits for.
TEST(Sleep, EndsWhenSomethingArrives) {
  World world(2);
  std::atomic<bool> over{false};
  std::thread sleeper([&] {
    Node& node = world[1];
    node.others.clear();
    while (node.received.size() < 200) {
      if (node.method().poll() > 0) continue;
      if (node.method().arm()) node.doorbell().wait(20000000000);
      node.method().disarm();
    }
    over = true;
  });
  const std::uint64_t start = os::now_ns();
  world[0].others.clear();
  for (int i = 0; i < 200; ++i) {
    ASSERT_TRUE(world[0].say(1, i));
    if (i % 4 == 0) std::this_thread::sleep_for(std::chrono::microseconds(i * 10));
  }
  while (!over) world[0].method().poll();
  sleeper.join();
  EXPECT_LT(os::now_ns() - start, 15000000000u) << "it slept through a packet";
}

TEST(Sleep, EndsWhenAFullSocketCanBeWritten) {
  Config config;
  config.tcp_buffer = 4096;
  World world(2, config);
  world.connect();
  const auto data = pattern(4000000, 2);
  Packet packet(Kind::RNDV_DATA);
  packet.length = static_cast<std::uint32_t>(data.size());
  Request owner;
  ASSERT_EQ(world[0].method().send(1, packet, {DataView::contiguous(data.data(), data.size()), 0, data.size()}, &owner),
            Outcome::queued);
  std::thread reader([&] {
    while (world[1].received.empty()) world[1].method().poll();
  });
  const std::uint64_t start = os::now_ns();
  while (world[0].sent.empty()) {
    if (world[0].method().poll() > 0) continue;
    if (world[0].method().arm()) world[0].doorbell().wait(20000000000);
    world[0].method().disarm();
  }
  reader.join();
  EXPECT_LT(os::now_ns() - start, 15000000000u) << "it slept while it could write";
  EXPECT_EQ(world[1].received[0].payload, data);
}

TEST(Connecting, WaitsForNobodyToComeToTheJob) {
  const auto boots = local_bootstraps(3);
  Config config;
  Node first(*boots[0], config), third(*boots[2], config);
  // Rank 1 has not been started yet, but nobody stands still for it.
  for (int i = 0; i < 100; ++i) {
    ASSERT_EQ(first.method().send(1, short_packet(1, 0), {}, nullptr), methods::Outcome::retry);
    first.method().poll();
  }
  first.others = {&third};
  ASSERT_TRUE(first.say(2, 7));
  Node second(*boots[1], config);
  first.others = {&second, &third};
  ASSERT_TRUE(first.say(1, 8));
  while (second.received.empty() || third.received.empty()) {
    for (Node* node : {&first, &second, &third}) node->method().poll();
  }
  EXPECT_EQ(second.received[0].packet.tag, 8);
  EXPECT_EQ(third.received[0].packet.tag, 7);
}

// Takes all file descriptors of this process but so many.
class Few {
 public:
  explicit Few(int left) {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    const rlimit few{256, before_.rlim_max};
    ::setrlimit(RLIMIT_NOFILE, &few);
    for (int fd = 0; (fd = ::open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0;) taken_.push_back(fd);
    for (; left > 0; --left) give_one();
  }
  void give_one() {
    ::close(taken_.back());
    taken_.pop_back();
  }
  ~Few() {
    for (const int fd : taken_) ::close(fd);
    ::setrlimit(RLIMIT_NOFILE, &before_);
  }

 private:
  std::vector<int> taken_;
  rlimit before_{};
};

// Each has its last descriptor in its own call.
TEST(Descriptors, TwoThatCallEachOtherWithTheirLastOnesMeet) {
  World world(2);
  const Few few(2);
  EXPECT_EQ(world[0].method().send(1, short_packet(1, 0), {}, nullptr), Outcome::retry);
  EXPECT_EQ(world[1].method().send(0, short_packet(2, 0), {}, nullptr), Outcome::retry);
  ASSERT_TRUE(world[0].say(1, 3));
  ASSERT_TRUE(world[1].say(0, 4));
  EXPECT_TRUE(world.until([&] { return !world[0].received.empty() && !world[1].received.empty(); }, "the packets"));
}

TEST(Descriptors, WhoHasNoneLeftSaysSo) {
  Config config;
  config.tcp_connect = 2000000000;
  World world(3, config);
  world.connect();
  Few few(1);
  EXPECT_EQ(world[2].method().send(0, short_packet(1, 0), {}, nullptr), Outcome::retry);
  ASSERT_TRUE(world.until([&] { return !world[2].lost.empty(); }, "the loss"));
  EXPECT_NE(world[2].lost[0].second.what.find("rank 0"), std::string::npos) << world[2].lost[0].second.what;
  EXPECT_NE(world[2].lost[0].second.what.find("no file descriptor left"), std::string::npos);
  ASSERT_EQ(world[0].lost.size(), 1u);  // or it would wait for rank 2 for ever
  EXPECT_EQ(world[0].lost[0].first, 2);
  EXPECT_NE(world[0].lost[0].second.what.find("no file descriptor left"), std::string::npos);
  // Who is still connected is not disturbed.
  ASSERT_TRUE(world[0].say(1, 9));
  EXPECT_TRUE(world.until([&] { return !world[1].received.empty() && world[1].received.back().packet.tag == 9; },
                          "the packet"));
}

// The lower rank's call would win, but it does not know yet where to call.
TEST(Connecting, TakesTheCallOfARankThatItAsksFor) {
  class NeverTold final : public Bootstrap {
   public:
    explicit NeverTold(Bootstrap& inner) : inner_(inner) {}
    const JobInfo& job() const override { return inner_.job(); }
    Result<void> put(std::string_view key, std::string_view value) override { return inner_.put(key, value); }
    Result<std::string> get(std::string_view key) override { return inner_.get(key); }
    Result<std::optional<std::string>> look_up(std::string_view) override { return std::nullopt; }
    Result<void> fence() override { return {}; }
    void abort(int, std::string_view, Blame) override {}
    Result<void> finalize() override { return {}; }

   private:
    Bootstrap& inner_;
  };
  const auto boots = local_bootstraps(2);
  NeverTold deaf(*boots[0]);
  Config config;
  Node first(deaf, config), second(*boots[1], config);
  ASSERT_EQ(first.method().send(1, short_packet(1, 0), {}, nullptr), methods::Outcome::retry);
  second.others = {&first};
  ASSERT_TRUE(second.say(0, 1));
  first.others = {&second};
  ASSERT_TRUE(first.say(1, 2));
}

// A congestion control that paces, such as the system's BBR, leaves its pacing to the connection if it has ever been
// that connection's.
TEST(Connect, OverLoopbackHasItsCongestionControlFromTheBeginning) {
  boost::asio::io_context io;
  ErrorCode ec;
  Socket socket = open_socket(io, {boost::asio::ip::address_v4::loopback(), 0}, 0, ec);
  ASSERT_FALSE(ec);
  std::array<char, 16> name{};
  socklen_t length = name.size();
  ASSERT_EQ(::getsockopt(socket.native_handle(), IPPROTO_TCP, TCP_CONGESTION, name.data(), &length), 0);
  EXPECT_EQ(std::string_view(name.data()), "reno");
}

}  // namespace
}  // namespace rmq::tcp::test
