// SPDX-License-Identifier: BSD-3-Clause
// Who comes in at rmqboot's connection server, and who does not.
#include "tools/boot/gate.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "start/boot_join.hpp"
#include "tools/boot/address.hpp"

namespace rmq::launch {
namespace {

using boot::Entry;
using boot::FrameKind;
using std::chrono::milliseconds;

std::string ticket(char letter) {
  return std::string(boot::ticket_bytes, letter);
}

int connect_to(const std::string& addresses) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(std::stoi(addresses)));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  return fd;
}

/// A gate for two ranks, served by a thread of its own.
class GateThread {
 public:
  GateThread() {
    auto listener = listen_for_ranks(true);
    addresses_ = listener->addresses;
    thread_ = std::thread([this, socket = std::move(listener->socket)]() mutable {
      auto loop = std::move(*EventLoop::create());
      Gate gate(*loop, std::move(socket), ticket('a') + ticket('b'),
                [this](FrameKind, int, UniqueFd one) { admitted_.push_back(std::move(one)); });
      const std::function<void()> look = [&] {
        missing_.store(gate.missing());
        if (over_.load()) loop->stop();
        loop->after(milliseconds(5), look);
      };
      look();
      loop->run();
      rusage used{};
      ::getrusage(RUSAGE_THREAD, &used);
      cpu_ = milliseconds(used.ru_utime.tv_sec * 1000 + used.ru_utime.tv_usec / 1000 + used.ru_stime.tv_sec * 1000 +
                          used.ru_stime.tv_usec / 1000);
    });
  }
  ~GateThread() { stop(); }
  /// Ends it; the processor time that it has used.
  milliseconds stop() {
    over_.store(true);
    if (thread_.joinable()) thread_.join();
    return cpu_;
  }
  const std::string& addresses() const { return addresses_; }
  int missing() const { return missing_.load(); }
  bool until_missing(int count) const {
    for (int i = 0; i < 4000 && missing() != count; ++i) std::this_thread::sleep_for(milliseconds(5));
    return missing() == count;
  }

 private:
  std::string addresses_;
  std::vector<UniqueFd> admitted_;
  std::atomic<int> missing_{-1};
  std::atomic<bool> over_{false};
  milliseconds cpu_{0};
  std::thread thread_;
};

TEST(Gate, LetsInWhoKnowsTheTicketOnceInEachRole) {
  GateThread gate;
  const auto rank = boot::join_server(gate.addresses(), FrameKind::join, 1, ticket('b'));
  EXPECT_TRUE(rank) << rank.error().what;
  EXPECT_FALSE(boot::join_server(gate.addresses(), FrameKind::join, 1, ticket('b')));
  EXPECT_FALSE(boot::join_server(gate.addresses(), FrameKind::join, 0, ticket('b')));
  EXPECT_FALSE(boot::join_server(gate.addresses(), FrameKind::mind, 1, ticket('c')));
  EXPECT_FALSE(boot::join_server(gate.addresses(), FrameKind::join, 2, ticket('a')));
  EXPECT_FALSE(boot::join_server(gate.addresses(), FrameKind::join, -1, ticket('a')));
  const auto minder = boot::join_server(gate.addresses(), FrameKind::mind, 1, ticket('b'));
  EXPECT_TRUE(minder) << minder.error().what;
  EXPECT_TRUE(gate.until_missing(2));
}

TEST(Gate, IsNotHeldUpByACrowdThatSaysNothing) {
  GateThread gate;
  std::vector<UniqueFd> crowd;
  for (int i = 0; i < 200; ++i) crowd.emplace_back(connect_to(gate.addresses()));
  const auto start = std::chrono::steady_clock::now();
  const auto rank = boot::join_server(gate.addresses(), FrameKind::join, 0, ticket('a'));
  EXPECT_TRUE(rank) << rank.error().what;
  for (int i = 0; i < 200; ++i) crowd.emplace_back(connect_to(gate.addresses()));
  const auto minder = boot::join_server(gate.addresses(), FrameKind::mind, 0, ticket('a'));
  EXPECT_TRUE(minder) << minder.error().what;
  EXPECT_TRUE(gate.until_missing(2));
  // The gate's patience with the crowd is 5 s, and so is a rank's with a gate that does not answer.
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
}

// It hears no more of a stranger than the first frame of a rank may be long.
TEST(Gate, HangsUpOnAStrangerWhoAnnouncesMuch) {
  GateThread gate;
  const UniqueFd fd(connect_to(gate.addresses()));
  const std::string frame = boot::encode(FrameKind::join, std::string(boot::max_body, 'x'));
  ASSERT_EQ(::send(fd.get(), frame.data(), boot::header_bytes, MSG_NOSIGNAL), static_cast<ssize_t>(boot::header_bytes));
  char byte;
  EXPECT_LE(::recv(fd.get(), &byte, 1, 0), 0);
}

// They take their turns with everybody else.
TEST(Gate, LetsOneInWhileAFloodOfStrangersTalks) {
  GateThread gate;
  std::atomic<bool> over{false};
  std::vector<std::thread> strangers;
  for (int i = 0; i < 2; ++i)
    strangers.emplace_back([&] {
      const std::string noise(4096, '\0');
      while (!over.load()) {
        const UniqueFd fd(connect_to(gate.addresses()));
        while (::send(fd.get(), noise.data(), noise.size(), MSG_NOSIGNAL) > 0) continue;
      }
    });
  const auto rank = boot::join_server(gate.addresses(), FrameKind::join, 0, ticket('a'));
  EXPECT_TRUE(rank) << rank.error().what;
  over.store(true);
  for (std::thread& one : strangers) one.join();
}

// Whoever listens at an address of rank 0's before it does.
TEST(Gate, IsNotToldTheTicketByThoseWhoComeIn) {
  auto listener = listen_for_ranks(true);
  std::string heard;
  std::thread impostor([&] {
    const UniqueFd one(::accept(listener->socket.get(), nullptr, nullptr));
    char bytes[256];
    const ssize_t got = ::recv(one.get(), bytes, sizeof bytes, 0);
    if (got > 0) heard.assign(bytes, static_cast<std::size_t>(got));
    const std::string frame = boot::encode(FrameKind::challenge, std::string(Entry::challenge_bytes, 'x'));
    ::send(one.get(), frame.data(), frame.size(), MSG_NOSIGNAL);
    const ssize_t more = ::recv(one.get(), bytes, sizeof bytes, 0);
    if (more > 0) heard.append(bytes, static_cast<std::size_t>(more));
  });
  EXPECT_FALSE(boot::join_server(listener->addresses, FrameKind::join, 0, ticket('a')));
  impostor.join();
  EXPECT_FALSE(heard.empty());
  EXPECT_EQ(heard.find("aaaa"), std::string::npos) << "the ticket was sent in clear";
}

TEST(Gate, IsNotOpenedByARecording) {
  GateThread gate;
  Entry rank(FrameKind::join, 0, ticket('a'));
  std::string recorded;
  for (int turn = 0; turn < 2; ++turn) {
    const UniqueFd fd(connect_to(gate.addresses()));
    const std::string opening = rank.opening();
    ASSERT_EQ(::send(fd.get(), opening.data(), opening.size(), MSG_NOSIGNAL), static_cast<ssize_t>(opening.size()));
    std::string challenge(boot::header_bytes + Entry::challenge_bytes, '\0');
    ASSERT_EQ(::recv(fd.get(), challenge.data(), challenge.size(), MSG_WAITALL),
              static_cast<ssize_t>(challenge.size()));
    if (turn == 0) {
      const auto proof = rank.answer({FrameKind::challenge, std::string_view(challenge).substr(boot::header_bytes)});
      ASSERT_TRUE(proof);
      recorded = *proof;
      continue;
    }
    ::send(fd.get(), recorded.data(), recorded.size(), MSG_NOSIGNAL);
    char byte;
    EXPECT_LE(::recv(fd.get(), &byte, 1, 0), 0) << "let in";
  }
  EXPECT_TRUE(gate.until_missing(4));
}

TEST(Gate, WaitsForDescriptorsWithoutABusyLoop) {
  GateThread gate;
  ASSERT_TRUE(gate.until_missing(4));
  const UniqueFd visitor(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  rlimit before{};
  ::getrlimit(RLIMIT_NOFILE, &before);
  rlimit low = before;
  low.rlim_cur = static_cast<rlim_t>(visitor.get()) + 1;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &low), 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(std::stoi(gate.addresses())));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ASSERT_EQ(::connect(visitor.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  std::this_thread::sleep_for(milliseconds(1000));
  ::setrlimit(RLIMIT_NOFILE, &before);
  const auto rank = boot::join_server(gate.addresses(), FrameKind::join, 0, ticket('a'));
  EXPECT_TRUE(rank) << rank.error().what;
  EXPECT_LT(gate.stop(), milliseconds(250));
}

}  // namespace
}  // namespace rmq::launch
