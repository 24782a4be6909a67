// The method in one process: N ranks, each its own mapping of the segment.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <thread>

#include "tests/shm/harness.hpp"

namespace rmq::test {
namespace {

using methods::Outcome;

Config settings(const char* kind = "memfd") {
  Config config;
  config.shm_segment = kind;
  return config;
}

/// For many ranks in one process, each of which maps the segment.
Config small_heaps() {
  Config config = settings();
  config.shm_heap = 4096;
  return config;
}

struct World {
  std::vector<std::unique_ptr<Bootstrap>> boots;
  std::vector<std::unique_ptr<ShmRank>> ranks;

  explicit World(int n, const Config& config = settings(), const std::vector<int>& hosts = {})
      : boots(hosts.empty() ? local_bootstraps(n) : local_bootstraps(Hosts(hosts))) {
    for (auto& boot : boots) ranks.push_back(std::make_unique<ShmRank>(*boot, config));
    for (auto& rank : ranks) EXPECT_TRUE(rank->method) << rank->failure;
  }
  ShmRank& operator[](std::size_t i) { return *ranks[i]; }
  void poll_all() {
    for (auto& rank : ranks) rank->method->poll();
  }
};

std::vector<std::byte> random_bytes(std::size_t n) {
  std::vector<std::byte> data(n);
  std::mt19937_64 random(n);
  for (std::byte& b : data) b = static_cast<std::byte>(random());
  return data;
}

class OnEachKind : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Shm, OnEachKind, testing::Values("memfd", "posix", "sysv"),
                         [](const auto& kind) { return std::string(kind.param); });

TEST_P(OnEachKind, CarriesPacketsOfEverySizeUnchangedAndInOrder) {
  World world(3, settings(GetParam()));
  const std::size_t most = world[0].method->eager_max(1);
  std::vector<std::size_t> sizes = {0,  1,  2,  3,  4,  7,  8,    9,    15,       16,  17,
                                    31, 32, 33, 63, 64, 65, 1000, 4096, most - 1, most};
  for (std::uint32_t msg = 0; msg < sizes.size(); ++msg) {
    ASSERT_TRUE(world[0].send_pattern(2, msg, sizes[msg]));
    ASSERT_TRUE(world[1].send_pattern(2, msg, sizes[msg]));
  }
  while (world[2].method->poll() != 0) {
  }
  ASSERT_EQ(world[2].got.size(), 2 * sizes.size());
  std::uint32_t next[2] = {0, 0};
  for (const Got& got : world[2].got) {
    const std::uint32_t msg = next[got.from]++;
    EXPECT_EQ(got.packet.msg, msg);
    ASSERT_EQ(got.payload.size(), sizes[msg]);
    for (std::size_t i = 0; i < got.payload.size(); ++i) ASSERT_EQ(got.payload[i], pattern(got.from, msg, i));
  }
}

TEST_P(OnEachKind, HeaderAndFieldsOfEveryKindArriveAsTheyWere) {
  World world(2, settings(GetParam()));
  for (const PacketKind& kind : packet_kinds()) {
    Packet packet(kind.kind);
    packet.flags = 5;
    packet.context = 77;
    packet.tag = -3;
    packet.source = 9;
    packet.msg = 0xdeadbeef;
    packet.credit = 123456;
    packet.length = 0;
    for (std::size_t i = 0; i < kBodyBytes; ++i) packet.body[i] = static_cast<std::byte>(i + 1);
    ASSERT_EQ(world[0].method->send(1, packet, {}, nullptr), Outcome::done);
    world.poll_all();
    world.poll_all();
    ASSERT_EQ(world[1].got.size(), 1u) << kind.name;
    Packet& back = world[1].got[0].packet;
    back.link = packet.link;
    // What lies behind the fields of a kind is nobody's.
    EXPECT_EQ(std::memcmp(&back, &packet, kHeaderBytes + body_bytes(kind.kind)), 0) << kind.name;
    world[1].got.clear();
  }
}

TEST(Shm, InlinePayloadKeepsTheFieldsBeforeIt) {
  World world(2);
  const auto data = random_bytes(64);
  for (const Kind kind : {Kind::SHORT, Kind::SHORT_SYNC, Kind::RNDV_DATA, Kind::FLOW}) {
    for (std::size_t bytes = 0; bytes <= 40; ++bytes) {
      Packet packet(kind);
      packet.length = static_cast<std::uint32_t>(bytes);
      for (std::size_t i = 0; i < body_bytes(kind); ++i) packet.body[i] = std::byte{0xee};
      Payload payload{DataView::contiguous(data.data(), 64), 3, bytes};
      ASSERT_EQ(world[0].method->send(1, packet, payload, nullptr), Outcome::done);
      while (world[1].method->poll() != 0) {
      }
      ASSERT_EQ(world[1].got.size(), 1u);
      const Got& got = world[1].got[0];
      for (std::size_t i = 0; i < body_bytes(kind); ++i) ASSERT_EQ(got.packet.body[i], std::byte{0xee});
      ASSERT_TRUE(std::equal(got.payload.begin(), got.payload.end(), data.begin() + 3));
      world[1].got.clear();
    }
  }
}

TEST(Shm, ReachesOnlyTheOthersOfItsHost) {
  World world(4, settings(), {0, 1, 0, 1});
  EXPECT_FALSE(world[0].method->reaches(0));
  EXPECT_FALSE(world[0].method->reaches(1));
  EXPECT_TRUE(world[0].method->reaches(2));
  EXPECT_TRUE(world[3].method->reaches(1));
  ASSERT_TRUE(world[3].send_pattern(1, 0, 100));
  while (world[1].method->poll() != 0) {
  }
  ASSERT_EQ(world[1].got.size(), 1u);
  EXPECT_EQ(world[1].got[0].from, 3);
}

TEST(Shm, ARankAloneOnItsHostNeedsNoSegment) {
  World world(2, settings(), {0, 1});
  EXPECT_FALSE(world[0].method->reaches(1));
  EXPECT_EQ(world[0].method->poll(), 0);
  EXPECT_EQ(world[0].method->mem_alloc(100), nullptr);
  EXPECT_TRUE(world[0].method->arm());
  world[0].method->disarm();
  EXPECT_TRUE(world[0].method->drained());
}

TEST(Shm, AFullRingSaysRetryAndLosesNothing) {
  Config config = settings();
  config.shm_cells = 16 * 64;
  config.shm_ring = 8192;
  for (const std::size_t bytes : {8u, 300u, 2048u}) {
    World world(2, config);
    world[1].keep = false;
    std::vector<std::byte> data(bytes);
    std::uint32_t sent = 0;
    for (int round = 0; round < 50; ++round) {
      for (;;) {
        for (std::size_t i = 0; i < bytes; ++i) data[i] = pattern(0, sent, i);
        if (world[0].try_send(1, Kind::SHORT, sent, data.data(), bytes) != Outcome::done) break;
        ASSERT_LT(++sent, 100000u);
      }
      while (world[1].method->poll() != 0) {
      }
      EXPECT_EQ(world[1].packets, sent);
    }
    EXPECT_GT(sent, 150u);
    EXPECT_EQ(world[1].damaged, 0u);
  }
}

TEST(Shm, ManySendersMeetAtOneReceiverThoughItLooksAtFewRingsAtATime) {
  World world(20);  // beyond the rings that are reserved at start
  world[0].keep = false;
  for (std::uint32_t msg = 0; msg < 30; ++msg) {
    for (std::size_t from = 1; from < 20; ++from) ASSERT_TRUE(world[from].send_pattern(0, msg, 10 * from));
    if (msg % 7 == 0) world[0].method->poll();
  }
  EXPECT_TRUE(world[0].poll_until([&] { return world[0].packets == 19 * 30; }));
  EXPECT_EQ(world[0].damaged, 0u);
}

// Where pairs begin by inbox: order stays across the change to a ring, whichever packet earns it, and what the inbox
// cannot hold is refused and lost nowhere.
TEST(Shm, PairsOfALargeHostGoFromTheInboxToTheirRingsInOrder) {
  World world(20, small_heaps());
  world[0].keep = world[1].keep = false;
  std::vector<std::uint32_t> sent(20, 0);
  std::mt19937 random(3);
  bool refused = false;
  for (int step = 0; step < 4000; ++step) {
    const std::size_t from = 1 + random() % 19;
    const std::size_t bytes = random() % 40 == 0 ? 300 : random() % 24;
    std::vector<std::byte> data(bytes);
    for (std::size_t i = 0; i < bytes; ++i) data[i] = pattern(static_cast<Rank>(from), sent[from], i);
    const Outcome o = world[from].try_send(0, Kind::SHORT, sent[from], data.data(), bytes);
    if (o == Outcome::done) ++sent[from];
    refused = refused || o == Outcome::retry;
    if (random() % 60 == 0) world[0].method->poll();
  }
  const auto all = std::accumulate(sent.begin(), sent.end(), std::uint64_t{0});
  EXPECT_TRUE(world[0].poll_until([&] { return world[0].packets == all; }));
  EXPECT_EQ(world[0].damaged, 0u);
  EXPECT_TRUE(refused);
}

// Who gives up a peer tells it, also without ever having sent to it, and when its inbox is full at that time.
TEST(Shm, TheEndOfALinkWithoutRingIsTold) {
  for (const bool full : {false, true}) {
    World world(20, small_heaps());
    world[1].keep = false;
    for (std::size_t from = 2; full && from < 6; ++from) {
      for (std::uint32_t msg = 0; msg < 12; ++msg) world[from].try_send(1, Kind::SHORT, msg, nullptr, 0);
    }
    world[0].method->drop(1, {Errc::protocol, "test"});
    EXPECT_TRUE(world[1].poll_until([&] {
      world[0].method->poll();
      return !world[1].lost.empty();
    }));
    EXPECT_EQ(world[1].lost[0].first, 0);
    EXPECT_EQ(world[1].packets, full ? 32u : 0u);
  }
}

// An exchange with everybody in turn takes no ring, however often it comes; a pair that talks takes one.
TEST(Shm, OnlyBusyPairsOfALargeHostTakeRings) {
  constexpr int kRanks = 80;  // a season for each pair is 1024 / 79 packets
  World world(kRanks, small_heaps());
  const auto rings = [&] { return world[0].shm().rings(); };
  for (std::uint32_t round = 0; round < 40; ++round) {
    for (Rank to = 1; to < kRanks; ++to) {
      ASSERT_TRUE(world[0].send_pattern(to, round, 8));
      while (world[static_cast<std::size_t>(to)].method->poll() != 0) {
      }
    }
  }
  EXPECT_EQ(rings(), 0u);
  for (std::uint32_t msg = 40; msg < 80; ++msg) {
    ASSERT_TRUE(world[0].send_pattern(7, msg, 8));
    while (world[7].method->poll() != 0) {
    }
  }
  EXPECT_EQ(rings(), 1u);
}

TEST(Shm, HandlersMaySendFromInsidePoll) {
  World world(2);
  const auto reply = [](ShmRank& self, Rank from, const Packet& packet) {
    if (packet.msg < 500) self.send_pattern(from, packet.msg + 1, packet.msg % 90);
  };
  world[0].on_any = world[1].on_any = reply;
  ASSERT_TRUE(world[0].send_pattern(1, 0, 8));
  for (int i = 0; i < 2000; ++i) world.poll_all();
  EXPECT_EQ(world[0].packets + world[1].packets, 501u);
}

struct Move {
  bool put;
  bool in_heap;
  std::size_t bytes;
};
class Transfers : public testing::TestWithParam<Move> {};

TEST_P(Transfers, MovesEveryByte) {
  const auto [is_put, in_heap, bytes] = GetParam();
  World world(2);
  const auto data = random_bytes(bytes);
  std::vector<std::byte> other(bytes + 64, std::byte{0x55});
  // Rank 0 exposes; rank 1 gets from there or puts there.
  std::byte* exposed = in_heap ? static_cast<std::byte*>(world[0].method->mem_alloc(bytes)) : other.data();
  ASSERT_NE(exposed, nullptr);
  std::vector<std::byte> local = is_put ? data : std::vector<std::byte>(bytes);
  if (!is_put) std::copy(data.begin(), data.end(), exposed);
  const std::uint64_t address = world[0].method->expose(1, DataView::contiguous(exposed, bytes));
  if (address == 0) GTEST_SKIP() << "missing here: single copies by the kernel";
  Request owner;
  const DataView view = DataView::contiguous(local.data(), bytes);
  const Outcome outcome = is_put ? world[1].method->put(0, address, view, bytes, &owner)
                                 : world[1].method->get(0, address, view, bytes, &owner);
  if (outcome == Outcome::queued) {
    EXPECT_FALSE(world[1].method->drained());
    for (int i = 0; i < 100000 && world[1].moved.empty(); ++i) world.poll_all();  // rank 0 helps
    ASSERT_EQ(world[1].moved.size(), 1u);
    EXPECT_EQ(world[1].moved[0], (std::pair{&owner, std::uint64_t{bytes}}));
    EXPECT_EQ(world[1].moved_errors[0], Errc::ok);
  } else {
    ASSERT_EQ(outcome, Outcome::done);
  }
  EXPECT_TRUE(world[1].method->drained());
  EXPECT_TRUE(std::equal(data.begin(), data.end(), is_put ? exposed : local.data()));
  if (in_heap) {
    EXPECT_TRUE(world[0].method->mem_free(exposed));
  } else {
    EXPECT_EQ(other[bytes], std::byte{0x55});
  }
}

std::vector<Move> moves() {
  std::vector<Move> all;
  for (const bool put : {false, true}) {
    for (const bool heap : {false, true}) {
      for (const std::size_t bytes : {1u, 4097u, 131071u, 131072u, 1000003u, 9u << 20})
        all.push_back({put, heap, bytes});
    }
  }
  return all;
}
INSTANTIATE_TEST_SUITE_P(Shm, Transfers, testing::ValuesIn(moves()), [](const auto& move) {
  return std::string(move.param.put ? "put" : "get") + (move.param.in_heap ? "_heap_" : "_user_") +
         std::to_string(move.param.bytes);
});

TEST(Shm, ATransferNeedsNoHelp) {
  World world(2);
  const auto data = random_bytes(5 << 20);
  std::vector<std::byte> into(data.size());
  Request owner;
  const std::uint64_t address = world[0].method->expose(1, DataView::contiguous(data.data(), data.size()));
  if (address == 0) GTEST_SKIP() << "missing here: single copies by the kernel";
  ASSERT_EQ(world[1].method->get(0, address, DataView::contiguous(into.data(), into.size()), into.size(), &owner),
            Outcome::queued);
  int polls = 0;
  while (world[1].moved.empty() && ++polls < 1000) world[1].method->poll();
  EXPECT_GT(polls, 3) << "one poll must not copy everything";
  EXPECT_EQ(into, data);
}

TEST(Shm, ManyTransfersWithSeveralPeersShareTheSlot) {
  World world(4);
  const auto data = random_bytes(400000);
  std::vector<std::vector<std::byte>> into(12, std::vector<std::byte>(data.size()));
  std::vector<Request> owners(12);
  for (std::size_t i = 0; i < into.size(); ++i) {
    const Rank from = static_cast<Rank>(1 + i % 3);
    const std::uint64_t address =
        world[static_cast<std::size_t>(from)].method->expose(0, DataView::contiguous(data.data(), data.size()));
    if (address == 0) GTEST_SKIP() << "missing here: single copies by the kernel";
    const DataView view = DataView::contiguous(into[i].data(), data.size());
    Outcome o;
    while ((o = world[0].method->get(from, address, view, data.size(), &owners[i])) == Outcome::retry) world.poll_all();
    ASSERT_EQ(o, Outcome::queued);
  }
  for (int i = 0; i < 10000 && world[0].moved.size() < into.size(); ++i) {
    if (i % 5 == 0)
      world.poll_all();
    else
      world[0].method->poll();
  }
  ASSERT_EQ(world[0].moved.size(), into.size());
  for (const auto& buffer : into) EXPECT_EQ(buffer, data);
}

TEST(Shm, NoAddressWithoutSingleCopyExceptInTheSharedHeap) {
  Config config = settings();
  config.shm_single_copy = false;
  World world(2, config);
  std::vector<std::byte> data(100);
  EXPECT_EQ(world[0].method->expose(1, DataView::contiguous(data.data(), 100)), 0u);
  void* shared = world[0].method->mem_alloc(100);
  EXPECT_NE(world[0].method->expose(1, DataView::contiguous(shared, 100)), 0u);
}

TEST(Shm, AnAddressOutsideOfThePeersHeapIsRefusedAndThePeerLost) {
  World world(2);
  std::vector<std::byte> into(100);
  for (const std::uint64_t offset : {std::uint64_t{0}, std::uint64_t{1} << 40, ~shm::kInSegment}) {
    EXPECT_EQ(world[1].method->get(0, shm::kInSegment | offset, DataView::contiguous(into.data(), 100), 100, nullptr),
              Outcome::failed);
  }
  world[1].method->poll();
  ASSERT_EQ(world[1].lost.size(), 1u);
  EXPECT_EQ(world[1].lost[0].first, 0);
  EXPECT_EQ(world[1].lost[0].second.code, Errc::protocol);
}

// Memory of which the kernel makes no copies: here nothing may touch it, a device's is refused alike.
struct Unreachable {
  static constexpr std::size_t kBytes = 512 * 1024;
  void* at = ::mmap(nullptr, kBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ~Unreachable() { ::munmap(at, kBytes); }
  DataView view(std::size_t bytes = kBytes) const { return DataView::contiguous(at, bytes); }
};

TEST(Shm, MemoryThatTheKernelDoesNotCopyFailsItsTransferOnly) {
  World world(2);
  const Unreachable memory;
  std::vector<std::byte> mine(Unreachable::kBytes);
  if (world[0].method->expose(1, memory.view()) == 0) GTEST_SKIP() << "missing here: single copies by the kernel";
  const std::uint64_t there = world[0].method->expose(1, memory.view());
  for (const bool put : {false, true}) {
    for (const std::size_t bytes : {std::size_t{5000}, Unreachable::kBytes}) {
      world[1].moved_errors.clear();
      Request owner;
      const DataView view = DataView::contiguous(mine.data(), bytes);
      const Outcome o = put ? world[1].method->put(0, there, view, bytes, &owner)
                            : world[1].method->get(0, there, view, bytes, &owner);
      if (o == Outcome::queued) {
        for (int i = 0; i < 100 && world[1].moved_errors.empty(); ++i) world.poll_all();
        ASSERT_EQ(world[1].moved_errors.size(), 1u);
        EXPECT_EQ(world[1].moved_errors[0], Errc::system);
      } else {
        EXPECT_EQ(o, Outcome::failed);
      }
    }
  }
  // The same where only one side's memory is so, and the next transfer is as good as ever.
  const std::uint64_t good = world[0].method->expose(1, DataView::contiguous(mine.data(), mine.size()));
  Request owner;
  world[1].moved_errors.clear();
  ASSERT_EQ(world[1].method->get(0, good, memory.view(), Unreachable::kBytes, &owner), Outcome::queued);
  std::vector<std::byte> into(mine.size());
  const DataView whole = DataView::contiguous(into.data(), into.size());
  while (world[1].method->get(0, good, whole, into.size(), &owner) == Outcome::retry) world.poll_all();
  for (int i = 0; i < 100 && world[1].moved_errors.size() < 2; ++i) world.poll_all();
  EXPECT_EQ(std::count(world[1].moved_errors.begin(), world[1].moved_errors.end(), Errc::ok), 1);
  EXPECT_EQ(into, mine);
  EXPECT_TRUE(world[0].lost.empty());
  EXPECT_TRUE(world[1].lost.empty());
  EXPECT_TRUE(world[1].send_pattern(0, 0, 50));
}

TEST(Shm, AnnouncedSleepMakesSendersRingAndNewsForbidSleep) {
  World world(2);
  ASSERT_TRUE(world[0].send_pattern(1, 0, 8));
  EXPECT_FALSE(world[1].method->arm()) << "a connection and a packet wait";
  world[1].method->disarm();
  while (world[1].method->poll() != 0) {
  }
  EXPECT_TRUE(world[1].method->arm());
  ASSERT_TRUE(world[0].send_pattern(1, 1, 8));
  const std::uint64_t start = os::now_ns();
  world[1].bell->wait(50'000'000'000);
  EXPECT_LT(os::now_ns() - start, 40'000'000'000u) << "nobody rang";
  world[1].method->disarm();
  EXPECT_GT(world[1].method->poll(), 0);
}

TEST(Shm, OneSleepIsRungOnce) {
  World world(3);
  for (const std::size_t from : {1u, 2u}) ASSERT_TRUE(world[from].send_pattern(0, 0, 8));
  while (world[0].method->poll() != 0) {
  }
  EXPECT_TRUE(world[0].method->arm());
  ASSERT_TRUE(world[1].send_pattern(0, 1, 8));
  world[0].bell->wait(-1);
  // Awake, but it has not got round to saying so: further packets cost their senders no system call.
  ASSERT_TRUE(world[1].send_pattern(0, 2, 8));
  ASSERT_TRUE(world[2].send_pattern(0, 1, 8));
  const std::uint64_t start = os::now_ns();
  world[0].bell->wait(2'000'000);
  EXPECT_GE(os::now_ns() - start, 2'000'000u) << "rung again";
  world[0].method->disarm();
}

TEST(Shm, PartnersInTurnAreFoundByTheNextPoll) {
  constexpr int kRanks = 20;  // far more rings than one poll looks at
  Config config = settings();
  config.shm_heap = 4096;
  World world(kRanks, config);
  for (std::size_t from = 1; from < kRanks; ++from) ASSERT_TRUE(world[from].send_pattern(0, 0, 100));
  while (world[0].got.size() < kRanks - 1) world[0].method->poll();
  const auto polls_for = [&](std::size_t from, std::uint32_t msg) {
    EXPECT_TRUE(world[from].send_pattern(0, msg, 8));
    const std::size_t before = world[0].got.size();
    int polls = 0;
    for (; world[0].got.size() == before; ++polls) world[0].method->poll();
    return polls;
  };
  for (const std::size_t partners : {2u, 3u, 4u}) {
    for (std::uint32_t round = 0; round < 6; ++round) {
      for (std::size_t i = 0; i < partners; ++i) {
        const int polls = polls_for(2 + 5 * i, 1);
        EXPECT_TRUE(round == 0 || polls == 1) << polls << " polls: " << partners << " partners, round " << round;
      }
    }
  }
}

TEST(Shm, ASenderThatWaitsForRoomIsWokenWhenThereIsSome) {
  Config config = settings();
  config.shm_cells = 16 * 64;
  World world(2, config);
  std::uint32_t sent = 0;
  while (world[0].try_send(1, Kind::SHORT, sent, nullptr, 0) == Outcome::done) ++sent;
  world[0].method->poll();
  EXPECT_TRUE(world[0].method->arm()) << "the ring is still full";
  while (world[1].method->poll() != 0) {
  }
  const std::uint64_t start = os::now_ns();
  world[0].bell->wait(50'000'000'000);
  EXPECT_LT(os::now_ns() - start, 40'000'000'000u) << "nobody rang";
  world[0].method->disarm();
  EXPECT_EQ(world[0].try_send(1, Kind::SHORT, sent, nullptr, 0), Outcome::done);

  // The same when room appears between the refusal and the announcement.
  while (world[0].try_send(1, Kind::SHORT, 0, nullptr, 0) == Outcome::done) {
  }
  while (world[1].method->poll() != 0) {
  }
  EXPECT_FALSE(world[0].method->arm());
  world[0].method->disarm();
}

TEST(Shm, ThreadsStressAllPairsWithPayloadChecks) {
  constexpr int kRanks = 4;
  constexpr std::uint32_t kMessages = 3000;
  World world(kRanks);
  std::vector<std::thread> threads;
  for (int me = 0; me < kRanks; ++me) {
    threads.emplace_back([&, me] {
      ShmRank& rank = world[static_cast<std::size_t>(me)];
      rank.keep = false;
      std::mt19937 random(static_cast<unsigned>(me));
      for (std::uint32_t msg = 0; msg < kMessages; ++msg) {
        for (Rank to = 0; to < kRanks; ++to) {
          if (to == me) continue;
          EXPECT_TRUE(rank.send_pattern(to, msg, random() % 10 == 0 ? random() % 20000 : random() % 80));
        }
      }
      EXPECT_TRUE(rank.poll_until([&] { return rank.packets == (kRanks - 1) * kMessages; }));
      EXPECT_EQ(rank.damaged, 0u);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// Four threads have ten ranks each, which all send to all by inboxes of 64 cells.
TEST(Shm, ThreadsStressTheInboxesOfALargeHost) {
  constexpr int kThreads = 4, kEach = 10, kRanks = kThreads * kEach;
  constexpr std::uint32_t kMessages = 60;  // more than a pair without ring may send
  World world(kRanks, small_heaps());
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      std::vector<std::uint32_t> sent(std::size_t{kEach} * kRanks, 0);
      std::mt19937 random(static_cast<unsigned>(t));
      std::uint64_t left = std::uint64_t{kEach} * (kRanks - 1) * kMessages;
      const auto mine = [&](int i) -> ShmRank& { return world[static_cast<std::size_t>(t * kEach + i)]; };
      for (int i = 0; i < kEach; ++i) mine(i).keep = false;
      const auto poll_mine = [&] {
        bool all = true;
        for (int i = 0; i < kEach; ++i) {
          mine(i).method->poll();
          all = all && mine(i).packets == std::uint64_t{kRanks - 1} * kMessages;
        }
        return all;
      };
      while (left > 0) {
        const int i = static_cast<int>(random() % kEach), to = static_cast<int>(random() % kRanks);
        std::uint32_t& msg = sent[static_cast<std::size_t>(i * kRanks + to)];
        if (to == t * kEach + i || msg == kMessages) continue;
        std::byte data[24];
        const std::size_t bytes = random() % sizeof data;
        for (std::size_t n = 0; n < bytes; ++n) data[n] = pattern(t * kEach + i, msg, n);
        if (mine(i).try_send(to, Kind::SHORT, msg, data, bytes) == Outcome::done)
          ++msg, --left;
        else
          poll_mine();
      }
      const std::uint64_t end = os::now_ns() + 60'000'000'000u;
      while (!poll_mine() && os::now_ns() < end) std::this_thread::yield();
      for (int i = 0; i < kEach; ++i) {
        EXPECT_EQ(mine(i).packets, std::uint64_t{kRanks - 1} * kMessages);
        EXPECT_EQ(mine(i).damaged, 0u);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace rmq::test
