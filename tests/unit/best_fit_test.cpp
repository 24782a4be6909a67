// SPDX-License-Identifier: BSD-3-Clause
// The allocator of shared memory: blocks do not overlap, nothing is lost, and the same calls give the same places.
#include "base/data/best_fit.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace rmq {
namespace {

constexpr std::uint64_t kBase = 0x1000'0000'0000, kBytes = 1 << 20;

struct Block {
  std::uint64_t at, bytes;
};

TEST(BestFit, GivesDistinctAlignedPlacesAndTakesAllBack) {
  std::mt19937 random(5);
  BestFit heap, twin;
  heap.open(kBase, kBytes);
  twin.open(kBase, kBytes);
  std::vector<Block> held;
  for (int i = 0; i < 20000; ++i) {
    if (held.empty() || random() % 5 < 3) {
      const std::uint64_t bytes = random() % 8000 + 1, alignment = std::uint64_t{1} << random() % 13;
      const auto at = heap.take(bytes, alignment);
      ASSERT_EQ(at, twin.take(bytes, alignment));
      if (!at) continue;
      ASSERT_EQ((kBase + *at) % alignment, 0u);
      ASSERT_LE(*at + bytes, kBytes);
      for (const Block& b : held) ASSERT_TRUE(*at >= b.at + b.bytes || *at + bytes <= b.at);
      held.push_back({*at, bytes});
    } else {
      const std::size_t which = random() % held.size();
      if (random() % 4 == 0) {
        const std::uint64_t bytes = random() % 12000 + 1;
        const bool grown = heap.resize(held[which].at, bytes);
        ASSERT_EQ(grown, twin.resize(held[which].at, bytes));
        if (grown) held[which].bytes = bytes;
        for (std::size_t k = 0; k < held.size(); ++k) {
          if (k == which) continue;
          ASSERT_TRUE(held[k].at >= held[which].at + held[which].bytes || held[k].at + held[k].bytes <= held[which].at);
        }
        continue;
      }
      ASSERT_TRUE(heap.give(held[which].at));
      ASSERT_TRUE(twin.give(held[which].at));
      held[which] = held.back();
      held.pop_back();
    }
  }
  for (const Block& b : held) ASSERT_TRUE(heap.give(b.at));
  EXPECT_EQ(heap.take(kBytes, 1), 0u);
}

TEST(BestFit, RefusesWhatItCannotGiveOrNeverGave) {
  BestFit heap;
  heap.open(kBase, kBytes);
  EXPECT_FALSE(heap.take(kBytes + 1, 1));
  EXPECT_FALSE(heap.take(UINT64_MAX, 1));
  EXPECT_FALSE(heap.give(0));
  const auto at = heap.take(100, 64);
  ASSERT_TRUE(at);
  EXPECT_FALSE(heap.give(*at + 64));
  EXPECT_EQ(heap.size_of(*at), 128u);
  EXPECT_FALSE(heap.resize(*at, UINT64_MAX));
  EXPECT_TRUE(heap.give(*at));
  EXPECT_FALSE(heap.give(*at));
}

TEST(BestFit, TakesTheSmallestBlockThatIsLargeEnough) {
  BestFit heap;
  heap.open(0, kBytes);
  std::vector<std::uint64_t> places;
  for (const std::uint64_t bytes : {640, 64, 128, 64, 256, 64}) places.push_back(*heap.take(bytes, 1));
  for (const std::size_t which : {0, 2, 4}) heap.give(places[which]);  // holes of 640, 128 and 256 bytes
  EXPECT_EQ(heap.take(128, 1), places[2]);
  EXPECT_EQ(heap.take(129, 1), places[4]);
  EXPECT_EQ(heap.take(64, 1), places[4] + 192);
  EXPECT_EQ(heap.take(64, 1), places[0]);
}

TEST(BestFit, GrowsAndShrinksAtItsEnd) {
  BestFit heap;
  heap.open(0, 0);
  EXPECT_FALSE(heap.take(1, 1));
  EXPECT_EQ(heap.shrink(0, 4096), 0u);
  heap.grow(8192);
  EXPECT_EQ(heap.take(100, 1), 0u);
  heap.grow(8192);
  EXPECT_EQ(heap.take(12000, 4096), 4096u);  // across what was the end
  EXPECT_EQ(heap.shrink(1, 4096), 0u);       // the last page is in use
  EXPECT_TRUE(heap.give(4096));
  EXPECT_EQ(heap.shrink(12289, 4096), 0u);
  EXPECT_EQ(heap.shrink(12288, 4096), 12288u);
  EXPECT_EQ(heap.bytes(), 4096u);
  EXPECT_FALSE(heap.take(4096, 1));
  EXPECT_EQ(heap.take(3968, 1), 128u);
  EXPECT_EQ(heap.blocks(), 2u);
}

}  // namespace
}  // namespace rmq
