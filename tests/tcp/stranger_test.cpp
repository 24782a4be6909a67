// SPDX-License-Identifier: BSD-3-Clause
// Who is not of the job does it no harm.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sodium.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>

#include "base/os/clock.hpp"
#include "tcp/handshake.hpp"
#include "tcp/node.hpp"

namespace rmq::tcp::test {
namespace {

using methods::Outcome;

// A blocking socket that knows where rank `to` listens and nothing else.
class Stranger {
 public:
  Stranger(World& world, Rank to) {
    const auto place = parse_place(*world.boots[0]->get("tcp." + std::to_string(to)));
    fd_ = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(place->endpoints.front().port());
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  }
  ~Stranger() { ::close(fd_); }
  void send(std::span<const std::byte> bytes) { ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL); }
  std::size_t receive(std::span<std::byte> bytes) {
    const ssize_t got = ::recv(fd_, bytes.data(), bytes.size(), MSG_DONTWAIT);
    return got > 0 ? static_cast<std::size_t>(got) : 0;
  }
  bool hung_up() {
    char drop[256];
    ssize_t got;
    while ((got = ::recv(fd_, drop, sizeof drop, MSG_DONTWAIT)) > 0) {
    }
    return got == 0 || (errno != EAGAIN && errno != EINTR);
  }

 private:
  int fd_;
};

void expect_unharmed(World& world) {
  EXPECT_TRUE(world[0].received.empty());
  EXPECT_TRUE(world[0].lost.empty() && world[1].lost.empty());
  world.connect();
}

Identity who(World& world, Rank rank) {
  const JobInfo& job = world.boots[static_cast<std::size_t>(rank)]->job();
  return {rank, job.size, job.secret, 5};
}

// Plays a caller's handshake by hand, as far as it goes. Returns all that was sent.
std::vector<std::byte> play(World& world, Stranger& stranger, Handshake& caller) {
  std::vector<std::byte> said;
  const std::uint64_t until = os::now_ns() + 5000000000u;
  while (caller.state() == Handshake::State::talking && os::now_ns() < until) {
    if (const auto out = caller.output(); !out.empty()) {
      said.insert(said.end(), out.begin(), out.end());
      stranger.send(out);
      caller.written(out.size());
    }
    world[0].method().poll();
    std::byte bytes[128];
    if (const std::size_t got = stranger.receive(std::span(bytes).first(caller.wanted()))) caller.take({bytes, got});
    if (caller.wanted() == 0 && caller.output().empty()) break;
  }
  return said;
}

TEST(Strangers, WithGarbageAreHungUpOn) {
  World world(2);
  for (const std::size_t bytes : {96u, 97u, 4096u, 1000000u}) {
    Stranger stranger(world, 0);
    stranger.send(pattern(std::min<std::size_t>(bytes, 60000), static_cast<unsigned>(bytes)));
    EXPECT_TRUE(world.until([&] { return stranger.hung_up(); }, "hanging up"));
  }
  const char request[] =
      "GET / HTTP/1.1\r\nHost: localhost\r\nUser-Agent: a scanner that is long enough for a HELLO\r\n\r\n";
  Stranger browser(world, 0);
  browser.send(std::as_bytes(std::span(request)));
  EXPECT_TRUE(world.until([&] { return browser.hung_up(); }, "hanging up"));
  expect_unharmed(world);
}

TEST(Strangers, WithAnOversizedLengthAreHungUpOn) {
  World world(2);
  Handshake caller = Handshake::calling(who(world, 1), 0);
  std::vector<std::byte> hello(caller.output().begin(), caller.output().end());
  const std::uint32_t length = 0xffffffff;
  std::memcpy(hello.data() + offsetof(Packet, length), &length, sizeof length);
  Stranger stranger(world, 0);
  stranger.send(hello);
  EXPECT_TRUE(world.until([&] { return stranger.hung_up(); }, "hanging up"));
  expect_unharmed(world);
}

TEST(Strangers, WithTheWrongSecretGetNoAnswer) {
  World world(2);
  Identity liar = who(world, 1);
  liar.secret[0] ^= std::byte{1};
  Stranger stranger(world, 0);
  stranger.send(Handshake::calling(liar, 0).output());
  EXPECT_TRUE(world.until([&] { return stranger.hung_up(); }, "hanging up"));
  // Even who goes on with a made-up proof, after another's first word.
  Stranger second(world, 0);
  second.send(Handshake::calling(who(world, 1), 0).output());
  std::byte proof[64] = {};
  Packet packet(Kind::LINK_PROOF);
  packet.length = 32;
  std::memcpy(proof, &packet, 32);
  second.send(proof);
  EXPECT_TRUE(world.until([&] { return second.hung_up(); }, "hanging up"));
  EXPECT_EQ(world[0].method().connections(), 0);
  expect_unharmed(world);
}

TEST(Strangers, WithARecordedHandshakeAreHungUpOn) {
  World world(3);
  Stranger true_one(world, 0);
  Handshake caller = Handshake::calling(who(world, 2), 0);
  const auto recorded = play(world, true_one, caller);
  ASSERT_EQ(caller.state(), Handshake::State::open);
  Stranger replayer(world, 0);
  replayer.send(recorded);
  EXPECT_TRUE(world.until([&] { return replayer.hung_up(); }, "hanging up"));
  EXPECT_EQ(world[0].method().connections(), 1);
  expect_unharmed(world);
}

TEST(Strangers, WhoStaySilentAreHungUpOnAndHoldNobodyUp) {
  Config config;
  config.tcp_connect = 200000000;
  World world(2, config);
  std::vector<std::unique_ptr<Stranger>> silent;
  for (int i = 0; i < 20; ++i) silent.push_back(std::make_unique<Stranger>(world, 0));
  // One that says a byte now and then is no better off.
  std::byte one{0x52};
  silent[0]->send({&one, 1});
  expect_unharmed(world);
  for (auto& stranger : silent) EXPECT_TRUE(world.until([&] { return stranger->hung_up(); }, "hanging up"));
}

TEST(Strangers, InACrowdCannotKeepTheRankFromHearingItsPeers) {
  World world(2);
  std::vector<std::unique_ptr<Stranger>> crowd;
  for (int i = 0; i < 200; ++i) {
    crowd.push_back(std::make_unique<Stranger>(world, 0));
    world[0].method().poll();
  }
  expect_unharmed(world);
  EXPECT_TRUE(crowd.front()->hung_up());
}

// All that come between two polls of a rank that computes.
TEST(Strangers, InACrowdCannotPushOutWhoIsInTheMiddleOfAHandshake) {
  World world(2);
  Stranger member(world, 0);
  Handshake caller = Handshake::calling(who(world, 1), 0);
  std::vector<std::unique_ptr<Stranger>> crowd;
  const auto come = [&](int count) {
    for (int i = 0; i < count; ++i) crowd.push_back(std::make_unique<Stranger>(world, 0));
  };
  come(100);
  const auto step = [&](bool answers) {
    member.send(caller.output());
    caller.written(caller.output().size());
    come(100);  // behind it
    for (int i = 0; i < 10; ++i) world[0].method().poll();
    std::byte bytes[128];
    while (answers && caller.wanted() != 0) {
      const std::size_t got = member.receive(std::span(bytes).first(caller.wanted()));
      if (got == 0) break;
      caller.take({bytes, got});
    }
  };
  step(true);
  ASSERT_FALSE(caller.output().empty()) << "no challenge came";
  come(200);
  for (int i = 0; i < 10; ++i) world[0].method().poll();
  step(true);
  EXPECT_EQ(caller.state(), Handshake::State::open);
  EXPECT_EQ(world[0].method().connections(), 1);
}

TEST(Strangers, DoNotKeepASleepingRankAwake) {
  Config config;
  config.tcp_connect = 300000000;
  World world(2, config);
  Stranger stranger(world, 0);
  int rounds = 0;
  const std::uint64_t until = os::now_ns() + 250000000u;
  while (os::now_ns() < until) {
    ++rounds;
    while (world[0].method().poll() > 0) {
    }
    if (world[0].method().arm()) world[0].doorbell().wait(static_cast<std::int64_t>(until - os::now_ns()));
    world[0].method().disarm();
  }
  EXPECT_LT(rounds, 20);
  // Nobody polls; the timer must wake the sleeper for the hanging up.
  const std::uint64_t start = os::now_ns();
  while (!stranger.hung_up() && os::now_ns() - start < 15000000000u) {
    while (world[0].method().poll() > 0) {
    }
    if (stranger.hung_up()) break;
    if (world[0].method().arm()) world[0].doorbell().wait(20000000000);
    world[0].method().disarm();
  }
  EXPECT_LT(os::now_ns() - start, 15000000000u);
}

// A member of the job that then breaks the protocol is lost, and nothing else happens.
TEST(BrokenPeers, AreLostWithAReason) {
  const auto packet_bytes = [](Kind kind, std::uint32_t link, std::uint32_t length) {
    Packet packet(kind);
    packet.link = link;
    packet.length = length;
    std::vector<std::byte> bytes(wire_bytes(kind));
    std::memcpy(bytes.data(), &packet, bytes.size());
    return bytes;
  };
  const struct {
    const char* name;
    std::vector<std::byte> bytes;
    const char* reason;
  } cases[] = {
      {"a gap in the numbers", packet_bytes(Kind::SHORT, 2, 0), "missing"},
      {"an unknown kind", packet_bytes(static_cast<Kind>(255), 1, 0), "unknown kind"},
      {"an endless payload", packet_bytes(Kind::SHORT, 1, 0xfffffff0), "too long"},
      {"a second handshake", packet_bytes(Kind::LINK_HELLO, 1, 0), "no place"},
      {"a sudden end, behind which another process answers", {}, "another process"},
  };
  for (const auto& one : cases) {
    World world(3);
    {
      Stranger peer(world, 0);
      Handshake caller = Handshake::calling(who(world, 1), 0);
      play(world, peer, caller);
      ASSERT_EQ(caller.state(), Handshake::State::open) << one.name;
      peer.send(one.bytes);
      if (!one.bytes.empty()) world.until([&] { return !world[0].lost.empty(); }, one.name);
    }
    ASSERT_TRUE(world.until([&] { return !world[0].lost.empty(); }, one.name));
    EXPECT_EQ(world[0].lost[0].first, 1);
    EXPECT_NE(world[0].lost[0].second.what.find(one.reason), std::string::npos) << world[0].lost[0].second.what;
    EXPECT_TRUE(world[0].received.empty());
    EXPECT_EQ(world[0].method().send(1, short_packet(1, 0), {}, nullptr), Outcome::failed);
    ASSERT_TRUE(world[0].say(2, 1));
    EXPECT_EQ(world[0].lost.size(), 1u);
  }
}

}  // namespace
}  // namespace rmq::tcp::test
