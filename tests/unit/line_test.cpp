// SPDX-License-Identifier: BSD-3-Clause
// Ports and lines: who gets through, who does not, and what the ends share.
#include "start/line.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace rmq::testing {
namespace {

struct Ends {
  std::unique_ptr<Line> port, caller;
  std::string trouble;
};

// Until both are open, or one has given up.
Ends connect(Port& port, Call& call) {
  Ends ends;
  while ((!ends.port || !ends.caller) && ends.trouble.empty()) {
    if (!ends.port) ends.port = port.accept();
    if (ends.caller) continue;
    auto open = call.step();
    if (open)
      ends.caller = std::move(*open);
    else
      ends.trouble = open.error().what;
  }
  return ends;
}

TEST(Line, BothEndsShareASecretAndMessages) {
  auto port = Port::open("lo");
  ASSERT_TRUE(port.has_value()) << port.error().what;
  auto call = Call::to((*port)->name());
  ASSERT_TRUE(call.has_value());
  Ends ends = connect(**port, **call);
  ASSERT_TRUE(ends.port && ends.caller) << ends.trouble;
  EXPECT_EQ(ends.port->secret(), ends.caller->secret());
  EXPECT_NE(ends.port->secret(), Secret{});
  EXPECT_TRUE(ends.port->answered());
  EXPECT_FALSE(ends.caller->answered());
  const std::string words[] = {"", "a", std::string(1000000, 'x')};
  for (const std::string& word : words) ends.caller->say(word);
  for (const std::string& word : words) {
    for (;;) {
      ASSERT_TRUE(ends.caller->flush().has_value());
      const auto heard = ends.port->hear();
      ASSERT_TRUE(heard.has_value());
      if (!*heard) continue;
      EXPECT_EQ(**heard, word);
      break;
    }
  }
  EXPECT_FALSE(ends.port->ended());
  ends.caller.reset();
  while (!ends.port->ended()) continue;
  EXPECT_FALSE(ends.port->hear().has_value());
}

// The machine may have IPv6 alone.
TEST(Line, APortOfIpv6IsCalledToo) {
  auto port = Port::open("::1");
  ASSERT_TRUE(port.has_value()) << port.error().what;
  if ((*port)->name().find("@[::1]:") == std::string::npos) GTEST_SKIP() << "missing here: IPv6 on the loopback";
  auto call = Call::to((*port)->name());
  ASSERT_TRUE(call.has_value());
  const Ends ends = connect(**port, **call);
  EXPECT_TRUE(ends.port && ends.caller) << ends.trouble;
}

TEST(Line, APortForThisMachineIsNowhereButOnTheLoopback) {
  auto port = Port::open("", nullptr, Port::Callers::on_this_machine);
  ASSERT_TRUE(port.has_value()) << port.error().what;
  const std::string places = (*port)->name().substr((*port)->name().find('@') + 1);
  EXPECT_EQ(places.find(','), std::string::npos) << places;
  EXPECT_TRUE(places.starts_with("127.") || places.starts_with("[::1]")) << places;
}

TEST(Line, WhoDoesNotKnowTheKeyDoesNotGetThrough) {
  auto port = Port::open("lo");
  ASSERT_TRUE(port.has_value());
  std::string name = (*port)->name();
  name[5] = name[5] == '0' ? '1' : '0';  // the first digit of the key
  auto call = Call::to(name);
  ASSERT_TRUE(call.has_value());
  const Ends ends = connect(**port, **call);
  EXPECT_FALSE(ends.port || ends.caller);
  EXPECT_NE(ends.trouble.find("does not know the port"), std::string::npos) << ends.trouble;
}

TEST(Line, SilentStrangersKeepNobodyOut) {
  auto port = Port::open("lo");
  ASSERT_TRUE(port.has_value());
  const std::string& name = (*port)->name();
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  to.sin_port = htons(static_cast<std::uint16_t>(std::stoi(name.substr(name.rfind(':') + 1))));
  int strangers[100];
  for (int& fd : strangers) {
    fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ASSERT_EQ(::connect(fd, reinterpret_cast<const sockaddr*>(&to), sizeof to), 0);
  }
  auto call = Call::to(name);
  ASSERT_TRUE(call.has_value());
  const Ends ends = connect(**port, **call);
  EXPECT_TRUE(ends.port && ends.caller) << ends.trouble;
  for (const int fd : strangers) ::close(fd);
}

TEST(Line, TwoWhoCallAtOnceAreBothServed) {
  auto port = Port::open("lo");
  ASSERT_TRUE(port.has_value());
  auto a = Call::to((*port)->name()), b = Call::to((*port)->name());
  std::unique_ptr<Line> lines[4];
  while (!lines[0] || !lines[1] || !lines[2] || !lines[3]) {
    if (!lines[0]) lines[0] = std::move(*(*a)->step());
    if (!lines[1]) lines[1] = std::move(*(*b)->step());
    if (!lines[2])
      lines[2] = (*port)->accept();
    else if (!lines[3])
      lines[3] = (*port)->accept();
  }
  EXPECT_NE(lines[0]->secret(), lines[1]->secret());
}

// More than a port lets in at a time, all of whom know the key: nobody is turned away, and each is served once.
TEST(Line, ACrowdOfCallersIsServedOneByOne) {
  constexpr std::size_t kCrowd = 200;
  auto port = Port::open("lo");
  ASSERT_TRUE(port.has_value());
  std::vector<std::unique_ptr<Call>> calls;
  for (std::size_t i = 0; i < kCrowd; ++i) calls.push_back(std::move(*Call::to((*port)->name())));
  std::vector<std::unique_ptr<Line>> callers(kCrowd), served;
  std::size_t open = 0;
  while (served.size() < kCrowd || open < kCrowd) {
    if (auto line = (*port)->accept()) served.push_back(std::move(line));
    for (std::size_t i = 0; i < kCrowd; ++i) {
      if (callers[i]) continue;
      auto step = calls[i]->step();
      ASSERT_TRUE(step.has_value()) << i << ": " << step.error().what;
      callers[i] = std::move(*step);
      open += callers[i] != nullptr;
    }
    ASSERT_LE(open, served.size()) << "somebody believes to have been chosen who has not";
  }
  EXPECT_EQ((*port)->accept(), nullptr);
}

// Who has died while others were served is no caller any more.
TEST(Line, TheDeadAreNotServed) {
  auto port = Port::open("lo");
  ASSERT_TRUE(port.has_value());
  auto first = Call::to((*port)->name()), second = Call::to((*port)->name()), third = Call::to((*port)->name());
  std::unique_ptr<Line> one, last;
  while (!one) {
    for (auto* call : {&first, &second, &third}) ASSERT_TRUE((**call)->step().has_value());
    one = (*port)->accept();
  }
  for (int i = 0; i < 3; ++i)  // so that the proofs of all three are there
    for (auto* call : {&first, &second, &third}) static_cast<void>((**call)->step());
  second->reset(), third->reset();
  auto living = Call::to((*port)->name());
  const Ends ends = connect(**port, **living);
  EXPECT_TRUE(ends.port && ends.caller) << ends.trouble;
  EXPECT_EQ(ends.port->secret(), ends.caller->secret());
}

TEST(Line, AClosedPortIsNobodys) {
  auto port = Port::open("lo");
  ASSERT_TRUE(port.has_value());
  auto waiting = Call::to((*port)->name()), late = Call::to((*port)->name());
  ASSERT_TRUE((*waiting)->step().has_value());
  port->reset();
  for (auto* call : {&waiting, &late}) {
    auto open = (**call)->step();
    while (open && !*open) open = (**call)->step();
    EXPECT_FALSE(open.has_value());
  }
}

TEST(Line, NamesThatAreNone) {
  for (const char* name : {"", "rmq1:", "rmq1:00@", "rmq1:zz@127.0.0.1:1", "127.0.0.1:1"})
    EXPECT_FALSE(Call::to(name).has_value()) << name;
}

TEST(Line, JoinTakesNoByteTooMany) {
  int fds[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
  const auto a = Line::join(::dup(fds[0])), b = Line::join(::dup(fds[1]));
  bool open_a = false, open_b = false;
  while (!open_a || !open_b) {
    open_a = open_a || *a->step();
    open_b = open_b || *b->step();
  }
  EXPECT_EQ(a->secret(), b->secret());
  EXPECT_NE(a->first(), b->first());
  Line &speaker = a->first() ? *a : *b, &hearer = a->first() ? *b : *a;
  speaker.say("a name");
  ASSERT_TRUE(*speaker.flush());
  ASSERT_EQ(::write(fds[a->first() ? 0 : 1], "user", 4), 4);  // its next words are the user's
  EXPECT_EQ(**hearer.hear(), "a name");
  char bytes[8];
  EXPECT_EQ(::recv(fds[a->first() ? 1 : 0], bytes, sizeof bytes, MSG_DONTWAIT), 4);
  ::close(fds[0]), ::close(fds[1]);
}

// It would fill the memory of whoever reads what it sends before it has proven anything, and keep them reading.
TEST(Line, AStrangerWhoFloodsIsHungUpOnAndAFriendComesIn) {
  auto port = Port::open("lo");
  ASSERT_TRUE(port.has_value()) << port.error().what;
  const std::string& name = (*port)->name();
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  to.sin_port = htons(static_cast<std::uint16_t>(std::stoi(name.substr(name.rfind(':') + 1))));
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  ASSERT_EQ(::connect(fd, reinterpret_cast<const sockaddr*>(&to), sizeof to), 0);
  constexpr std::size_t kMost = std::size_t{256} << 20, kInSockets = std::size_t{32} << 20;
  std::atomic<std::size_t> sent{0};
  std::atomic<bool> over{false};
  std::thread flood([&] {
    const std::string junk = "RMQ-LINE" + std::string(1 << 20, 'x');
    for (ssize_t n = 0; sent < kMost && (n = ::send(fd, junk.data(), junk.size(), MSG_NOSIGNAL)) > 0;)
      sent += static_cast<std::size_t>(n);
    over = true;
  });
  while (!over) EXPECT_EQ((*port)->accept(), nullptr);
  flood.join();
  ::close(fd);
  EXPECT_LT(sent, kInSockets);
  auto call = Call::to(name);
  ASSERT_TRUE(call.has_value());
  const Ends ends = connect(**port, **call);
  EXPECT_TRUE(ends.port && ends.caller) << ends.trouble;
}

}  // namespace
}  // namespace rmq::testing
