// SPDX-License-Identifier: BSD-3-Clause
// Whole methods of one host: connecting, packets, room, and the announcement that a rank sleeps. A wake-up that is lost
// shows as a schedule in which nobody can go on.
#include "shm/method.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/explore/check.hpp"
#include "tests/explore/host.hpp"

namespace rmq::shm {
namespace {

using explore::Bounds;
using explore::Change;
using explore::expect;
using explore::Mutant;
using explore::Program;
using methods::Outcome;

/// A rank: the method, and what its packets are taken for.
struct RankOf {
  explore::Host& host;
  Trace trace;
  std::unique_ptr<Doorbell> bell;
  methods::Sink sink;
  std::unique_ptr<ShmMethod> method;
  std::uint32_t got = 0;
  std::map<Rank, std::uint32_t> next;  // by sender

  RankOf(explore::Host& h, int rank) : host(h), bell(std::move(Doorbell::open("", rank).value())) {
    const auto i = static_cast<std::size_t>(rank);
    sink.device = this;
    sink.on_packet.fill([](void* self, Rank from, const Packet& p, const std::byte*) {
      auto& me = *static_cast<RankOf*>(self);
      expect(p.msg == me.next[from]++, "packets come in order");
      ++me.got;
    });
    sink.on_peer_lost = [](void*, Rank, const Error& error) { expect(false, error.what); };
    method = std::make_unique<ShmMethod>(methods::MethodContext{host.config, *host.boots[i], sink, trace, *bell},
                                         std::make_unique<const std::uint64_t>(0),
                                         std::make_unique<const Directory>(std::move(host.directories[i])));
  }

  void sleep() {
    if (method->arm()) bell->wait(-1);
    method->disarm();
  }
  void send(Rank to, std::uint32_t packets) {
    for (std::uint32_t n = 0; n < packets;) {
      Packet p(Kind::SHORT);
      p.msg = n;
      const Outcome o = method->send(to, p, {}, nullptr);
      expect(o != Outcome::failed, "the peer is there");
      if (o == Outcome::done)
        ++n;
      else if (method->poll() == 0)
        sleep();
    }
  }
  void receive(std::uint32_t packets) {
    while (got < packets) {
      if (method->poll() == 0) sleep();
    }
  }
};

/// The first `n` ranks of a host of `all`.
struct World {
  explore::Host host;
  std::vector<std::unique_ptr<RankOf>> ranks;

  explicit World(int n, int all) : host(all) {
    explore::seams().bells = std::vector<explore::Bell>(static_cast<std::size_t>(all));
    for (int rank = 0; rank < n; ++rank) ranks.push_back(std::make_unique<RankOf>(host, rank));
  }
  explicit World(int n) : World(n, n) {}
};

Program one_way(std::uint32_t packets) {
  auto world = std::make_shared<World>(2);
  return {{[=] { world->ranks[0]->send(1, packets); }, [=] { world->ranks[1]->receive(packets); }}, {}};
}

// Both ends of a conversation, as it is when each waits for the other.
Program ping_pong() {
  auto world = std::make_shared<World>(2);
  return {{[=] { world->ranks[0]->send(1, 1), world->ranks[0]->receive(1); },
           [=] { world->ranks[1]->receive(1), world->ranks[1]->send(0, 1); }},
          {}};
}

constexpr Bounds kBounds{.preemptions = 2, .stale = 2, .random = 2000};

TEST(Sleep, NoPacketIsSleptThrough) {
  explore::holds([] { return one_way(2); }, kBounds);
}

TEST(Sleep, NoAnswerIsSleptThrough) {
  explore::holds(ping_pong, kBounds);
}

TEST(Sleep, NoRoomIsSleptThrough) {
  // More than the ring has cells: the sender sleeps until there is room.
  explore::holds([] { return one_way(10); }, {.preemptions = 1, .stale = 2, .random = 2000});
}

TEST(Sleep, NeedsItsFencesAndOrders) {
  const Mutant mutants[] = {
      {"fence.hpp", "compiler_fence();", Change::skipped},
      {"seams.cpp", "explore::heavy_fence();", Change::skipped},
      {"method_poll.cpp", "control_->sleeping.store(1, std::memory_order_relaxed);", Change::skipped},
  };
  explore::kills(ping_pong, kBounds, mutants);
}

// ---- by inbox ----

const int kManyRanks = static_cast<int>(Config{}.shm_reserve) + 1;  // where pairs begin without rings

Program by_inbox(std::uint32_t packets) {
  auto world = std::make_shared<World>(2, kManyRanks);
  return {{[=] { world->ranks[0]->send(1, packets), world->ranks[0]->receive(1); },
           [=] { world->ranks[1]->receive(packets), world->ranks[1]->send(0, 1); }},
          {}};
}

// More at once than an inbox has cells. Who finds it full takes a ring, or, where the system has no memory for one,
// sleeps until there is room.
Program crowd(int senders, std::uint32_t packets, bool memory) {
  auto world = std::make_shared<World>(senders + 1, kManyRanks);
  explore::seams().no_memory = !memory;
  Program all;
  all.threads.push_back([=] { world->ranks[0]->receive(static_cast<std::uint32_t>(senders) * packets); });
  for (int rank = 1; rank <= senders; ++rank)
    all.threads.push_back([=] { world->ranks[static_cast<std::size_t>(rank)]->send(0, packets); });
  return all;
}

TEST(SleepByInbox, NoPacketAndNoAnswerIsSleptThrough) {
  explore::holds([] { return by_inbox(2); }, kBounds);
}

TEST(SleepByInbox, APairThatTalksGoesOverToItsRingInOrder) {
  explore::holds([] { return by_inbox(20); }, {.preemptions = 1, .stale = 1, .random = 2000});
}

TEST(SleepByInbox, NoRoomIsSleptThrough) {
  explore::holds([] { return crowd(3, 15, false); }, {.preemptions = 0, .stale = 0, .random = 2000});
}

// The announcements of several at once, which do not go by the inbox.
TEST(SleepByInbox, RingsOfWhoFindsItFullBeginBehindIt) {
  explore::holds([] { return crowd(3, 15, true); }, {.preemptions = 0, .stale = 0, .random = 4000});
}

TEST(SleepByInbox, NeedsItsWords) {
  const Mutant mutants[] = {
      {"method_mail.cpp", "theirs.mail.exchange(1, std::memory_order_release)", Change::skipped},
      {"method_mail.cpp", "theirs.mail.exchange(1, std::memory_order_release)", Change::relaxed},
      {"method_mail.cpp", "control_->mail.exchange(0, std::memory_order_acquire)", Change::relaxed},
      {"method_poll.cpp", "control_->sleeping.store(1, std::memory_order_relaxed);", Change::skipped},
  };
  explore::kills([] { return by_inbox(2); }, kBounds, mutants);
  const Mutant of_room[] = {
      {"method_poll.cpp", "header->wanted.store(1, std::memory_order_release);", Change::skipped},
  };
  explore::kills([] { return crowd(3, 15, false); }, {.preemptions = 0, .stale = 0, .random = 2000}, of_room);
  const Mutant of_rings[] = {
      {"directory.cpp", "ring.header->behind.store(inbox(ring.header->to).tail()", Change::skipped},
  };
  explore::kills([] { return crowd(3, 15, true); }, {.preemptions = 1, .stale = 0, .random = 4000}, of_rings);
}

// ---- threads of one rank ----

/// Threads share a method under one lock, as those of a device do: two wait for a packet each, one just tests. The ring
/// that wakes one of them takes away the announcement of both: who wakes announces again for whom still sleeps.
struct Threads {
  World world{2};
  Atomic<std::uint32_t> held{0};
  bool announces_again = true;
  int asleep = 0;

  void lock() {
    while (held.exchange(1, std::memory_order_acquire) != 0) explore::pause();
  }
  void unlock() { held.store(0, std::memory_order_release); }

  void receive(std::uint32_t mine) {
    RankOf& rank = *world.ranks[1];
    lock();
    while (rank.got < mine) {
      if (rank.method->poll() != 0) continue;
      if (rank.method->arm()) {
        ++asleep;
        unlock();
        // That another thread has taken the packet the device finds out by time.
        explore::seams().bells[1].wait([&] { return rank.got >= mine; });
        lock();
        --asleep;
      }
      rank.method->disarm();
      if (announces_again && asleep > 0 && !rank.method->arm()) rank.bell->ring(1);
    }
    unlock();
  }
  void test() {
    lock();
    world.ranks[1]->method->poll();
    unlock();
  }
};

Program threads_of_one_rank(bool announces_again) {
  auto all = std::make_shared<Threads>();
  all->announces_again = announces_again;
  return {{[=] { all->receive(1); }, [=] { all->receive(2); }, [=] { all->world.ranks[0]->send(1, 2); },
           [=] { all->test(), all->test(); }},
          {}};
}

TEST(Sleep, AThreadThatWakesDoesNotSilenceAnother) {
  constexpr Bounds bounds{.preemptions = 0, .stale = 0, .random = 4000};
  explore::holds([] { return threads_of_one_rank(true); }, bounds);
  EXPECT_TRUE(explore::explore([] { return threads_of_one_rank(false); }, bounds).failed);
}

}  // namespace
}  // namespace rmq::shm
