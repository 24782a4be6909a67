// SPDX-License-Identifier: BSD-3-Clause
// Links that break at random, and links that are closed for others: nothing is lost, doubled or out of order.
//
// RMQ_CUTS=10000 breaks so many connections in each of the first tests, RMQ_CUT_SEED begins with another seed.
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <random>
#include <thread>

#include "base/data/layout.hpp"
#include "base/os/clock.hpp"
#include "cuts/cutter.hpp"
#include "tcp/node.hpp"
#include "tests/sanitized.hpp"

namespace rmq::tcp::test {
namespace {

using methods::Landing;
using methods::Outcome;
using rmq::test::Cutter;

std::uint64_t number_from(const char* name, std::uint64_t otherwise) {
  const char* const text = std::getenv(name);
  return text != nullptr ? std::strtoull(text, nullptr, 10) : otherwise;
}

// Packets from every node to every other, of all sizes, with and without owner, each with its number as tag; and what
// each node has got of them.
class Traffic {
 public:
  Traffic(World& world, std::uint64_t seed) : world_(world), random_(seed), n_(static_cast<int>(world.nodes.size())) {
    for (int to = 0; to < n_; ++to) {
      Node& node = world[to];
      next_.emplace_back(static_cast<std::size_t>(n_), 0);
      got_.emplace_back(static_cast<std::size_t>(n_), 0);
      // Landings go to memory of their own, for several may be under way.
      node.arriving = [this, to](Rank from, const Packet& packet) {
        auto& memory = landing_[{from, to}].emplace_back(packet.length, std::byte{});
        return Landing{DataView::contiguous(memory.data(), memory.size()), 0, packet.length, nullptr};
      };
    }
  }

  void send_one() {
    const int from = static_cast<int>(random_() % static_cast<unsigned>(n_));
    const int to = (from + 1 + static_cast<int>(random_() % static_cast<unsigned>(n_ - 1))) % n_;
    int& number = next_[static_cast<std::size_t>(from)][static_cast<std::size_t>(to)];
    const auto data = std::make_shared<std::vector<std::byte>>(bytes_of(from, to, number));
    Packet packet(data->size() > 65536 ? Kind::RNDV_DATA : Kind::SHORT);
    packet.tag = number;
    packet.length = static_cast<std::uint32_t>(data->size());
    const bool owned = data->size() > 65536 || random_() % 2 == 0;
    Sent* const sent = owned ? &sent_.emplace_back() : nullptr;
    if (owned) sent->data = data;
    const Outcome outcome =
        world_[from].offer(to, packet, {DataView::contiguous(data->data(), data->size()), 0, data->size()},
                           owned ? &sent->owner : nullptr);
    ASSERT_NE(outcome, Outcome::failed);
    if (owned && outcome != Outcome::queued) sent_.pop_back();
    if (!owned || outcome != Outcome::queued) std::ranges::fill(*data, std::byte{0xdd});  // no longer needed
    if (outcome == Outcome::retry) return;
    if (outcome == Outcome::queued) ++queued_;
    ++number;
  }

  void poll() {
    for (auto& node : world_.nodes) node->method().poll();
    for (int to = 0; to < n_; ++to) check(to);
  }

  bool is_through() {
    std::size_t told = 0;
    bool refused = false;  // and not told of room
    for (auto& node : world_.nodes) told += node->sent.size(), refused = refused || !node->refused.empty();
    return next_ == transposed() && told == queued_ && !refused;
  }

  void expect_no_loss() {
    for (auto& node : world_.nodes) {
      EXPECT_TRUE(node->lost.empty()) << node->lost[0].second.what;
      for (const auto& [owner, error] : node->sent) EXPECT_EQ(error, Errc::ok);
    }
  }

 private:
  struct Sent {
    Request owner;
    std::shared_ptr<std::vector<std::byte>> data;
  };

  static std::vector<std::byte> bytes_of(int from, int to, int number) {
    std::mt19937_64 draw(static_cast<std::uint64_t>(from * 1000003 + to * 10007 + number));
    static constexpr std::size_t kMost[] = {9, 9, 100, 600, 9000, 65536, 400000};
    return pattern(draw() % kMost[draw() % 7], static_cast<unsigned>(draw()));
  }

  void check(int to) {
    for (Received& got : world_[to].received) {
      int& expected = got_[static_cast<std::size_t>(to)][static_cast<std::size_t>(got.from)];
      ASSERT_EQ(got.packet.tag, expected) << "from " << got.from << " to " << to;
      if (got.payload.size() != got.packet.length) {
        auto& landed = landing_[{got.from, to}];
        got.payload = std::move(landed.front());
        landed.pop_front();
      }
      ASSERT_TRUE(got.payload == bytes_of(got.from, to, expected))
          << "from " << got.from << " to " << to << ", " << expected << ", " << got.packet.length << " bytes";
      ++expected;
    }
    world_[to].received.clear();
  }

  std::vector<std::vector<int>> transposed() const {
    auto made = got_;
    for (std::size_t i = 0; i < made.size(); ++i) {
      for (std::size_t j = 0; j < made.size(); ++j) made[j][i] = got_[i][j];
    }
    return made;
  }

  World& world_;
  std::mt19937_64 random_;
  int n_;
  std::vector<std::vector<int>> next_, got_;                                   // [from][to], [to][from]
  std::map<std::pair<int, int>, std::deque<std::vector<std::byte>>> landing_;  // as they were announced
  std::list<Sent> sent_;
  std::size_t queued_ = 0;
};

struct Case {
  const char* name;
  int ranks;
  std::uint64_t buffer;
  std::uint64_t links;
};

class Cuts : public testing::TestWithParam<Case> {};

TEST_P(Cuts, LoseAndDoubleNothing) {
  const std::uint64_t wanted = number_from("RMQ_CUTS", kSanitized ? 40 : 300);
  const std::uint64_t seed = number_from("RMQ_CUT_SEED", 1);
  Config config;
  config.tcp_buffer = GetParam().buffer;
  config.tcp_links = GetParam().links;
  World world(GetParam().ranks, config);
  Traffic traffic(world, seed);
  Cutter cutter(seed + 1000);
  std::mt19937_64 random(seed + 2000);
  for (std::uint64_t step = 0; cutter.cuts() < wanted; ++step) {
    for (std::uint64_t i = random() % 20; i > 0; --i) traffic.send_one();
    if (random() % 4 == 0) cutter.cut_one();
    for (std::uint64_t i = random() % 6; i > 0; --i) traffic.poll();
    if (HasFatalFailure()) FAIL() << "seed " << seed << ", step " << step;
  }
  EXPECT_TRUE(world.until([&] { return traffic.poll(), traffic.is_through() || HasFatalFailure(); }, "the rest"));
  traffic.expect_no_loss();
  std::uint64_t remade = 0;
  for (auto& node : world.nodes) remade += node->method().remade();
  EXPECT_GT(remade, wanted / 4);
  std::vector<std::thread> threads;
  for (auto& node : world.nodes) threads.emplace_back([&] { node->method().close(); });
  for (auto& thread : threads) thread.join();
  traffic.expect_no_loss();
}

INSTANTIATE_TEST_SUITE_P(All, Cuts,
                         testing::Values(Case{"pair", 2, 0, 128}, Case{"small_buffers", 2, 4096, 128},
                                         Case{"five", 5, 0, 128}, Case{"few_links", 9, 0, 4}),
                         [](const auto& one) { return std::string(one.param.name); });

// A large payload is cut while it lands, again and again, and comes whole, to the same place.
TEST(Landing, ThatIsCutComesOnceAndWhole) {
  World world(2);
  world.connect();
  const auto data = pattern(6'000'000, 3);
  const LayoutRef byte = Layout::basic(Basic::u8, 1);
  const LayoutRef layout = Layout::hvector(60000, 100, 128, *byte);
  std::vector<std::byte> to(60000 * 128, std::byte{0xee});
  int announced = 0;
  world[1].arriving = [&](Rank, const Packet& packet) {
    ++announced;
    return methods::Landing{layout->view(to.data(), 1), 0, packet.length, nullptr};
  };
  Packet packet(Kind::RNDV_DATA);
  packet.length = static_cast<std::uint32_t>(data.size());
  Request owner;
  ASSERT_EQ(world[0].method().send(1, packet, {DataView::contiguous(data.data(), data.size()), 0, data.size()}, &owner),
            Outcome::queued);
  Cutter cutter(5);
  for (int i = 0; i < 20; ++i) {
    for (int k = 0; k < 3; ++k) world[1].method().poll(), world[0].method().poll();
    if (announced != 0 && world[1].landed.empty()) {
      EXPECT_TRUE(cutter.cut_one());
    }
  }
  EXPECT_GT(cutter.cuts(), 2u);
  ASSERT_TRUE(world.until([&] { return !world[0].sent.empty() && !world[1].landed.empty(); }, "the payload"));
  EXPECT_EQ(announced, 1);
  EXPECT_EQ(world[1].landed.size(), 1u);
  EXPECT_EQ(world[0].sent, (std::vector<std::pair<Request*, Errc>>{{&owner, Errc::ok}}));
  for (std::size_t i = 0; i < data.size(); ++i) ASSERT_EQ(to[i / 100 * 128 + i % 100], data[i]) << i;
}

// The owner of a payload that was not copied hears of it when the peer has it, and not before.
TEST(Owners, OfLargePayloadsWaitForTheAcknowledgement) {
  World world(2);
  world.connect();
  const auto data = pattern(100000, 3);
  Packet packet(Kind::RNDV_DATA);
  packet.length = static_cast<std::uint32_t>(data.size());
  Request owner;
  ASSERT_EQ(world[0].method().send(1, packet, {DataView::contiguous(data.data(), data.size()), 0, data.size()}, &owner),
            Outcome::queued);
  for (int i = 0; i < 200; ++i) world[0].method().poll();
  EXPECT_TRUE(world[0].sent.empty());
  EXPECT_TRUE(world[0].method().arm());  // the acknowledgement will wake it
  world[0].method().disarm();
  EXPECT_TRUE(world.until([&] { return world[0].sent.size() == 1; }, "the acknowledgement"));
}

// What a link has grown to is given back when it has been idle, also what the peer has received but need not
// acknowledge for its own sake. Who sends small packets afterwards needs little.
TEST(Memory, OfALinkIsGivenBackWhenItIsIdle) {
  constexpr int kPeers = 6;
  World world(1 + kPeers);
  const auto data = pattern(60'000, 3);
  const DataView view = DataView::contiguous(data.data(), data.size());
  std::size_t most = 0;
  for (int peer = 1; peer <= kPeers; ++peer) {
    for (int i = 0; i < 9; ++i) {
      ASSERT_NE(world[0].method().send(peer, short_packet(1, data.size()), {view, 0, data.size()}, nullptr),
                Outcome::failed);
      if (i % 3 == 0) world.until([n = 10]() mutable { return --n == 0; }, "some polls");
      most = std::max(most, world[0].method().memory());
    }
  }
  EXPECT_GT(most, 200'000u);
  const auto total = [&] {
    std::size_t sum = 0;
    for (auto& node : world.nodes) sum += node->method().memory();
    return sum;
  };
  ASSERT_TRUE(world.until([&] { return total() <= 2 * kPeers * Journal::kFirst; }, "memory to be given back"));
  ASSERT_TRUE(world[0].say(1, 2, "more"));
  ASSERT_TRUE(world.until([&] { return !world[1].received.empty() && text_of(world[1].received.back()) == "more"; },
                          "a packet"));
}

// One-sided traffic: nothing goes back but acknowledgements, and the memory for what is not acknowledged is bounded.
TEST(Journal, TakesNoMoreThanItsBoundBeforeThePeerReads) {
  World world(2);
  world.connect();
  const auto data = pattern(1000, 3);
  std::size_t taken = 0;
  Outcome outcome = Outcome::done;
  for (; taken < 100000 && outcome != Outcome::retry; ++taken) {
    outcome = world[0].method().send(1, short_packet(1, data.size()),
                                     {DataView::contiguous(data.data(), data.size()), 0, data.size()}, nullptr);
    world[0].method().poll();
  }
  EXPECT_EQ(outcome, Outcome::retry);
  EXPECT_LE((taken - 1) * 1032, Journal::kMost);
  EXPECT_GE(taken * 1032, Journal::kMost / 2);
  for (int i = 0; i < 20000; ++i) ASSERT_TRUE(world[0].say(1, i, "more"));
  ASSERT_TRUE(world.until([&] { return world[1].received.size() == taken - 1 + 20000; }, "all packets"));
}

// What a packet told of the other direction when it was new may be 2^16 packets old when it is written again, and would
// be taken for a later number.
TEST(Journal, WritesAgainWithWhatHasBeenReceivedByThen) {
  Journal journal;
  const Payload far = {DataView::contiguous(&journal, 1), 0, 1};
  Request owner;
  for (int i = 0; i < 5; ++i) {
    Packet packet(Kind::SHORT);
    packet.length = i == 2 ? 1 : 0;
    packet.spare = 7;
    const std::size_t head = wire_bytes(packet.kind);
    ASSERT_TRUE(journal.takes(head, 0));
    std::memcpy(journal.next(head), &packet, head);
    i == 2 ? journal.add(head, far, &owner) : journal.add(head);
  }
  journal.written(5 * wire_bytes(Kind::SHORT) + 1);
  ASSERT_TRUE(journal.is_written());
  std::vector<Request*> told;
  ASSERT_TRUE(journal.rewind(1, 99, told));
  std::array<iovec, 8> pieces;
  std::unique_ptr<std::byte[]> scratch;
  std::size_t covered = 0;
  ASSERT_EQ(journal.gather(pieces, scratch, covered), 3u);  // two headers, the payload, two headers
  for (const std::size_t piece : {0u, 2u}) {
    for (std::size_t at = 0; at < pieces[piece].iov_len; at += wire_bytes(Kind::SHORT)) {
      HeaderFields header;
      std::memcpy(&header, static_cast<const std::byte*>(pieces[piece].iov_base) + at, sizeof header);
      EXPECT_EQ(header.spare, 99);
    }
  }
  EXPECT_TRUE(told.empty());
}

// A payload that is longer than the journal's bound, and must be copied, does not wait for an acknowledgement of the
// little before it: the peer, which only receives, owes none yet.
TEST(Journal, TakesAPacketBeyondItsBoundBehindLittle) {
  World world(2);
  world.connect();
  for (int i = 0; i < 50; ++i) ASSERT_TRUE(world[0].say(1, i, "little"));
  for (const std::size_t bytes : {480'000u, 600'000u, 600'000u}) {
    const auto data = pattern(bytes, 3);
    Outcome outcome = Outcome::retry;
    ASSERT_TRUE(world.until(
        [&] {
          outcome = world[0].method().send(1, short_packet(1, bytes),
                                           {DataView::contiguous(data.data(), bytes), 0, bytes}, nullptr);
          return outcome != Outcome::retry;
        },
        "the journal to take it"));
    EXPECT_EQ(outcome, Outcome::done);
    ASSERT_TRUE(world[0].say(1, 1, "behind"));
  }
  ASSERT_TRUE(world.until([&] { return world[1].received.size() == 50 + 6; }, "all"));
}

// Both send what fits, and neither says anything else: acknowledgements flow all the same.
TEST(Journal, OfBothSidesIsEmptiedWhileBothOnlySend) {
  Config config;
  config.tcp_buffer = 64 * 1024;
  World world(2, config);
  world.connect();
  std::size_t taken[2] = {};
  const auto data = pattern(3000, 3);
  ASSERT_TRUE(world.until(
      [&] {
        for (int rank = 0; rank < 2; ++rank) {
          while (taken[rank] < 20000 &&
                 world[rank].method().send(1 - rank, short_packet(1, taken[rank] % 3000),
                                           {DataView::contiguous(data.data(), data.size()), 0, taken[rank] % 3000},
                                           nullptr) == Outcome::done) {
            ++taken[rank];
          }
        }
        return taken[0] == 20000 && taken[1] == 20000 && world[0].received.size() == 20000 &&
               world[1].received.size() == 20000;
      },
      "both to have all"));
}

/// Sends, and sleeps where nothing moves. Whether it was taken by `until`.
bool send_asleep(Node& node, int rank, std::uint64_t until) {
  bool taken = false;
  while (!taken && os::now_ns() < until) {
    taken = node.method().send(rank, short_packet(1, 0), {}, nullptr) == Outcome::done;
    if (taken || node.method().poll() > 0) continue;
    if (node.method().arm()) node.doorbell().wait(100'000'000'000);
    node.method().disarm();
  }
  return taken;
}

// All pairs with few connections: they are closed in good order and made again.
TEST(FewLinks, ServeAllPairs) {
  constexpr int kRanks = 24;
  Config config;
  config.tcp_links = 6;
  World world(kRanks, config);
  int most = 0;
  for (int round = 0; round < 3; ++round) {
    std::vector<int> next(kRanks, 1);
    const auto step = [&] {
      bool all = true;
      for (int rank = 0; rank < kRanks; ++rank) {
        int& shift = next[static_cast<std::size_t>(rank)];
        // Each as far as it gets: a call that waits for room holds up nobody else's.
        if (shift < kRanks &&
            world[rank].method().send((rank + shift) % kRanks, short_packet(round, 0), {}, nullptr) == Outcome::done) {
          ++shift;
        }
        all &= shift == kRanks;
        most = std::max(most, world[rank].method().connections());
      }
      return all;
    };
    ASSERT_TRUE(world.until(step, "all sends"));
  }
  ASSERT_TRUE(world.until(
      [&] {
        return std::ranges::all_of(world.nodes, [](auto& node) { return node->received.size() == 3 * (kRanks - 1); });
      },
      "all packets"));
  std::uint64_t paused = 0;
  for (auto& node : world.nodes) {
    EXPECT_TRUE(node->lost.empty());
    paused += node->method().paused();
  }
  EXPECT_LE(most, 6 + 2);
  EXPECT_GT(paused, 100u);
}

// A rank that sleeps while its call waits for room is woken.
TEST(FewLinks, WakeWhoWaitsForRoom) {
  constexpr int kRanks = 8;
  Config config;
  config.tcp_links = 4;
  World world(kRanks, config);
  std::atomic<bool> over{false};
  std::thread others([&] {
    while (!over) {
      for (int rank = 1; rank < kRanks; ++rank) world[rank].method().poll();
    }
  });
  Node& node = world[0];
  const std::uint64_t start = os::now_ns();
  for (int rank = 1; rank < kRanks; ++rank) {
    EXPECT_TRUE(send_asleep(node, rank, start + 90'000'000'000));
  }
  EXPECT_LT(os::now_ns() - start, 90'000'000'000u);
  over = true;
  others.join();
}

// A rank that computes does not answer the wish to close its connection. Others that are idle are closed instead.
TEST(FewLinks, WaitForNoRankThatComputes) {
  Config config;
  config.tcp_links = 4;
  World world(6, config);
  Node& node = world[0];
  for (int rank = 1; rank < 5; ++rank) {
    node.others.push_back(&world[rank]);
    ASSERT_TRUE(node.say(rank, 1, "first"));
  }
  // From here on rank 1, whose connection is idle for longest, computes.
  std::atomic<bool> over{false};
  std::thread others([&] {
    while (!over) {
      for (int rank = 2; rank < 6; ++rank) world[rank].method().poll();
    }
  });
  const std::uint64_t until = os::now_ns() + 90'000'000'000;
  const bool taken = send_asleep(node, 5, until);
  EXPECT_LT(os::now_ns(), until);
  over = true;
  others.join();
  EXPECT_TRUE(taken);
}

// Four connections at most, and nobody but the sender and rank 5 polls: whether the sender reaches rank 5, first behind
// what `before` does.
void reach_the_one_who_waits(const std::function<void(World&)>& before) {
  Config config;
  config.tcp_links = 4;
  World world(10, config);
  before(world);
  std::atomic<bool> over{false};
  std::thread other([&] {
    while (!over) world[5].method().poll();
  });
  EXPECT_TRUE(send_asleep(world[0], 5, os::now_ns() + 90'000'000'000));
  over = true;
  other.join();
}

/// Fills the four connections of rank 0.
void say_to_four(World& world) {
  for (int rank = 1; rank < 5; ++rank) {
    world[0].others.push_back(&world[rank]);
    ASSERT_TRUE(world[0].say(rank, 1, "first"));
  }
}

TEST(FewLinks, AreClosedThoughAllOfTheirPeersCompute) {
  reach_the_one_who_waits(say_to_four);
}

TEST(FewLinks, AreClosedThoughAllOfThemAreStuck) {
  std::vector<std::byte> data(4'000'000);
  Request owners[4];
  reach_the_one_who_waits([&](World& world) {
    say_to_four(world);
    Packet packet(Kind::RNDV_DATA);
    packet.length = static_cast<std::uint32_t>(data.size());
    for (int rank = 1; rank < 5; ++rank) {
      ASSERT_EQ(world[0].method().send(rank, packet, {DataView::contiguous(data.data(), data.size()), 0, data.size()},
                                       &owners[rank - 1]),
                Outcome::queued);
    }
  });
}

TEST(FewLinks, ServeACallThoughOthersAreNotAnswered) {
  reach_the_one_who_waits([](World& world) {
    for (const int rank : {6, 7, 8, 9}) {
      ASSERT_EQ(world[0].method().send(rank, short_packet(1, 0), {}, nullptr), Outcome::retry);
    }
  });
}

// What was sent on connections that were closed alone, both ways, comes once and whole when the peers poll again.
TEST(FewLinks, LoseNothingWhenTheyAreClosedAlone) {
  constexpr int kRanks = 9;
  Config config;
  config.tcp_links = 4;
  config.tcp_buffer = 4096;
  World world(kRanks, config);
  Traffic traffic(world, 7);
  std::mt19937_64 random(8);
  std::uint64_t closed = 0;
  for (int step = 0; step < 3000; ++step) {
    for (std::uint64_t i = random() % 8; i > 0; --i) traffic.send_one();
    // One polls for longer than the others are waited for.
    Node& node = world[static_cast<int>(random() % kRanks)];
    for (int i = 0; i < 40; ++i) node.method().poll();
    if (step % 10 == 0) {
      const std::uint64_t until = os::now_ns() + Switchboard::kPatience;
      while (os::now_ns() < until) node.method().poll();
      traffic.poll();
    }
    if (::testing::Test::HasFatalFailure()) FAIL() << "step " << step;
  }
  EXPECT_TRUE(world.until([&] { return traffic.poll(), traffic.is_through() || ::testing::Test::HasFatalFailure(); },
                          "the rest"));
  traffic.expect_no_loss();
  for (auto& node : world.nodes) closed += node->method().paused();
  EXPECT_GT(closed, 50u);
}

// A process that ends while its connection is being closed for others is missed as any other.
TEST(FewLinks, DoNotHideAnEnd) {
  Config config;
  config.tcp_links = 4;
  World world(6, config);
  Node& node = world[0];
  for (int rank = 1; rank < 5; ++rank) {
    node.others.push_back(&world[rank]);
    ASSERT_TRUE(node.say(rank, 1, "first"));
  }
  ASSERT_EQ(node.method().send(5, short_packet(1, 0), {}, nullptr), Outcome::retry);
  // Each of the others has heard LINK_PAUSE, and answers it with its last breath.
  for (int i = 0; i < 40; ++i) node.method().poll();
  for (int rank = 1; rank < 5; ++rank) world[rank].method().poll();
  for (int rank = 1; rank < 5; ++rank) {
    node.method().ended(rank, {Errc::peer_lost, "its process has ended"});
  }
  const auto all = [&] {
    node.method().poll();
    return node.lost.size() == 4;
  };
  for (const std::uint64_t until = os::now_ns() + 60'000'000'000; !all() && os::now_ns() < until;) {
  }
  ASSERT_EQ(node.lost.size(), 4u);
  for (const auto& [rank, error] : node.lost) EXPECT_EQ(error.what, "its process has ended");
}

// A rank that sleeps with a cut link wakes to call again, and to be called.
TEST(Cut, IsMendedInItsSleep) {
  World world(2);
  world.connect();
  std::atomic<bool> over{false};
  const auto sleep_and_poll = [&](Node& node) {
    if (node.method().poll() > 0) return;
    if (node.method().arm()) node.doorbell().wait(100'000'000'000);
    node.method().disarm();
  };
  std::thread other([&] {
    while (!over) sleep_and_poll(world[1]);
  });
  Cutter cutter(1);
  const std::uint64_t start = os::now_ns();
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(cutter.cut_one());
    while (world[0].method().remade() == static_cast<std::uint64_t>(i)) sleep_and_poll(world[0]);
    while (world[0].method().send(1, short_packet(i, 0), {}, nullptr) == Outcome::retry) sleep_and_poll(world[0]);
  }
  EXPECT_LT(os::now_ns() - start, 90'000'000'000u) << "it slept through a cut";
  EXPECT_TRUE(world[0].lost.empty());
  over = true;
  world[1].doorbell().ring(1);
  other.join();
}

// The rank that is called computes meanwhile: the connection is made again when it polls, however late.
TEST(Cut, IsMendedWhenThePeerPollsAgain) {
  Config config;
  config.tcp_silence = 100'000'000;
  World world(2, config);
  world.connect();
  ASSERT_TRUE(world[0].say(1, 1, "before"));
  Cutter cutter(1);
  ASSERT_TRUE(cutter.cut_one());
  for (const std::uint64_t until = os::now_ns() + 500'000'000; os::now_ns() < until;) world[0].method().poll();
  EXPECT_TRUE(world[0].lost.empty());
  ASSERT_TRUE(world[0].say(1, 2, "after"));
  ASSERT_TRUE(world.until([&] { return world[1].received.size() == 2; }, "both"));
  EXPECT_EQ(text_of(world[1].received[1]), "after");
}

}  // namespace
}  // namespace rmq::tcp::test
