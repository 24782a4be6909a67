// SPDX-License-Identifier: BSD-3-Clause
// Bytes that go from memory to memory: by gets and puts, with help and without, in pieces.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <numeric>

#include "tests/shm/world.hpp"

namespace rmq::test {
namespace {

using methods::Outcome;

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

TEST(ShmTransfer, ATransferNeedsNoHelp) {
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

TEST(ShmTransfer, ManyTransfersWithSeveralPeersShareTheSlot) {
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

TEST(ShmTransfer, NoAddressWithoutSingleCopyExceptInTheSharedHeap) {
  Config config = settings();
  config.shm_single_copy = false;
  World world(2, config);
  std::vector<std::byte> data(100);
  EXPECT_EQ(world[0].method->expose(1, DataView::contiguous(data.data(), 100)), 0u);
  void* shared = world[0].method->mem_alloc(100);
  EXPECT_NE(world[0].method->expose(1, DataView::contiguous(shared, 100)), 0u);
}

TEST(ShmTransfer, AnAddressOutsideOfThePeersHeapIsRefusedAndThePeerLost) {
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

TEST(ShmTransfer, MemoryThatTheKernelDoesNotCopyFailsItsTransferOnly) {
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

}  // namespace
}  // namespace rmq::test
