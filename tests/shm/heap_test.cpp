// SPDX-License-Identifier: BSD-3-Clause
#include "shm/heap.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

namespace rmq::shm {
namespace {

constexpr std::uint64_t kAt = 65536, kRange = 4 << 20;

struct HeapTest : testing::Test {
  Segment segment = std::move(*Segment::create(SegmentKind::memfd, kAt + 2 * kRange));
  Heap heap{segment, kAt, kRange};
};

TEST_F(HeapTest, BlocksAreAlignedAndInRange) {
  for (const std::size_t bytes : {0u, 1u, 64u, 65u, 4095u, 4096u, 100000u}) {
    std::byte* block = heap.allocate(bytes);
    ASSERT_NE(block, nullptr) << bytes;
    const auto offset = static_cast<std::uint64_t>(block - segment.data());
    EXPECT_GE(offset, kAt);
    EXPECT_LE(offset + bytes, kAt + kRange);
    EXPECT_EQ(offset % (bytes >= 4096 ? 4096 : 64), 0u);
    EXPECT_TRUE(heap.contains(block, bytes));
    std::memset(block, 1, bytes);
  }
  EXPECT_EQ(heap.blocks(), 7u);
}

TEST_F(HeapTest, RefusesWhatDoesNotFitAndRecovers) {
  EXPECT_EQ(heap.allocate(kRange + 1), nullptr);
  EXPECT_EQ(heap.allocate(SIZE_MAX), nullptr);
  std::byte* all = heap.allocate(kRange);
  ASSERT_NE(all, nullptr);
  EXPECT_EQ(heap.allocate(1), nullptr);
  EXPECT_TRUE(heap.free(all));
  EXPECT_EQ(heap.allocate(kRange), all);
}

TEST_F(HeapTest, FreesOnlyItsOwnBlocks) {
  std::byte* block = heap.allocate(1000);
  int local = 0;
  EXPECT_FALSE(heap.free(&local));
  EXPECT_FALSE(heap.free(block + 64));
  EXPECT_FALSE(heap.free(segment.data() + kAt + kRange));
  EXPECT_FALSE(heap.free(nullptr));
  EXPECT_TRUE(heap.free(block));
  EXPECT_FALSE(heap.free(block));
}

TEST_F(HeapTest, AnEmptyHeapGivesNothing) {
  Heap none;
  EXPECT_EQ(none.allocate(1), nullptr);
  EXPECT_FALSE(none.free(segment.data()));
  Heap zero(segment, kAt, 0);
  EXPECT_EQ(zero.allocate(1), nullptr);
  EXPECT_EQ(zero.allocate(0), nullptr);
}

TEST_F(HeapTest, RandomUseNeverOverlapsAndEndsInOneFreeRange) {
  struct Block {
    std::byte* at;
    std::size_t bytes;
    int fill;
  };
  std::mt19937 random(11);
  std::vector<Block> blocks;
  for (int step = 0; step < 20000; ++step) {
    if (blocks.size() < 100 && random() % 2 == 0) {
      const std::size_t bytes = random() % 3 == 0 ? random() % 60000 : random() % 500;
      const int fill = static_cast<int>(random() % 256);
      if (std::byte* at = heap.allocate(bytes)) {
        std::memset(at, fill, bytes);
        blocks.push_back({at, bytes, fill});
      }
    } else if (!blocks.empty()) {
      const std::size_t i = random() % blocks.size();
      const Block block = blocks[i];
      for (std::size_t k = 0; k < block.bytes; k += 61) ASSERT_EQ(std::to_integer<int>(block.at[k]), block.fill);
      ASSERT_TRUE(heap.free(block.at));
      blocks[i] = blocks.back();
      blocks.pop_back();
    }
  }
  for (const Block& block : blocks) ASSERT_TRUE(heap.free(block.at));
  EXPECT_NE(heap.allocate(kRange), nullptr);
}

}  // namespace
}  // namespace rmq::shm
