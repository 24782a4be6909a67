// SPDX-License-Identifier: BSD-3-Clause
#include "shm/cell_ring.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <thread>
#include <utility>
#include <vector>

#include "shm/inbox.hpp"

namespace rmq::shm {
namespace {

// A ring whose next position is `start`: the cells carry the stamps of the packets before.
struct WholeRing {
  std::vector<Cell> cells;
  std::atomic<std::uint64_t> taken;
  CellWriter writer;
  CellReader reader;

  explicit WholeRing(std::uint32_t size, std::uint64_t start = 0)
      : cells(size), taken(start), writer(cells.data(), size, start), reader(cells.data(), size, start) {
    const auto shift = static_cast<unsigned>(std::countr_zero(size));
    for (std::uint32_t i = 0; i < size; ++i) {
      const bool before_start = i < start % size;
      cells[i].stamp.store(lap_of(start, shift) - (before_start ? 0 : 1), std::memory_order_relaxed);
    }
  }
  void write(std::uint64_t value) {
    std::memcpy(writer.cell().rest, &value, sizeof value);
    writer.publish();
  }
  std::uint64_t read() {
    std::uint64_t value;
    std::memcpy(&value, reader.cell().rest, sizeof value);
    reader.advance();
    return value;
  }
};

TEST(CellRing, ANewRingIsEmpty) {
  WholeRing ring(8);
  EXPECT_FALSE(ring.reader.ready());
  EXPECT_FALSE(ring.writer.full());
  EXPECT_TRUE(ring.reader.sane());
}

TEST(CellRing, ADefaultWriterIsFullForEver) {
  EXPECT_TRUE(CellWriter().full());
}

TEST(CellRing, PacketsComeOutInOrderOverManyLaps) {
  WholeRing ring(8);
  std::uint64_t sent = 0, got = 0;
  for (int lap = 0; lap < 100; ++lap) {
    for (int i = 0; i < 5; ++i) {
      if (ring.writer.full()) {
        ASSERT_TRUE(ring.writer.returned(ring.taken));
      }
      ASSERT_FALSE(ring.writer.full());
      ring.write(sent++);
    }
    while (ring.reader.ready()) {
      ASSERT_EQ(ring.read(), got++);
      if (ring.reader.return_is_due()) ring.reader.give_back(ring.taken);
    }
  }
  EXPECT_EQ(sent, got);
}

TEST(CellRing, IsFullUntilTheReaderReturnsCells) {
  WholeRing ring(4);
  for (std::uint64_t i = 0; i < 4; ++i) ring.write(i);
  EXPECT_TRUE(ring.writer.full());
  EXPECT_EQ(ring.read(), 0u);
  EXPECT_FALSE(ring.writer.may_return(ring.taken));
  ASSERT_TRUE(ring.writer.returned(ring.taken));
  EXPECT_TRUE(ring.writer.full()) << "a cell that was read but not given back";
  ring.reader.give_back(ring.taken);
  EXPECT_TRUE(ring.writer.may_return(ring.taken));
  ASSERT_TRUE(ring.writer.returned(ring.taken));
  EXPECT_FALSE(ring.writer.full());
}

TEST(CellRing, AnEmptiedRingHasRoomWithoutAnExplicitReturn) {
  for (std::uint32_t size : {8u, 32u, 1024u}) {
    WholeRing ring(size);
    for (std::uint64_t i = 0; i < 10 * size; ++i) {
      if (ring.writer.full()) {
        ASSERT_TRUE(ring.writer.returned(ring.taken));
      }
      ASSERT_FALSE(ring.writer.full());
      ring.write(i);
      ASSERT_EQ(ring.read(), i);
      if (ring.reader.return_is_due()) ring.reader.give_back(ring.taken);
    }
  }
}

TEST(CellRing, StampsSurviveTheWrapOfTheLapNumber) {
  constexpr std::uint64_t kWrap = std::uint64_t{8} << 32;
  WholeRing ring(8, kWrap - 20);
  for (std::uint64_t i = 0; i < 64; ++i) {
    ASSERT_FALSE(ring.reader.ready());
    ASSERT_TRUE(ring.reader.sane());
    ring.write(i);
    ASSERT_TRUE(ring.reader.ready());
    ASSERT_EQ(ring.read(), i);
    ring.reader.give_back(ring.taken);
    ASSERT_TRUE(ring.writer.returned(ring.taken));
  }
}

TEST(CellRing, ForeignStampsAreNoPacketsAndAreNoticed) {
  WholeRing ring(8);
  for (const std::uint32_t stamp : {2u, 77u, 0xffffffffu}) {
    ring.cells[0].stamp.store(stamp, std::memory_order_relaxed);
    EXPECT_FALSE(ring.reader.ready()) << stamp;
    EXPECT_FALSE(ring.reader.sane()) << stamp;
  }
}

TEST(CellRing, ImpossibleReturnsAreRefused) {
  WholeRing ring(8, 100);
  for (int i = 0; i < 3; ++i) ring.write(0);
  for (const std::uint64_t taken : {std::uint64_t{104}, std::uint64_t{94}, std::uint64_t{0}, UINT64_MAX}) {
    ring.taken.store(taken, std::memory_order_relaxed);
    EXPECT_FALSE(ring.writer.returned(ring.taken)) << taken;
  }
}

TEST(CellRing, TwoThreadsMoveEveryWordOfEveryPacket) {
  WholeRing ring(16);
  constexpr std::uint64_t kPackets = 200000;
  std::thread reader([&] {
    for (std::uint64_t n = 0; n < kPackets; ++n) {
      while (!ring.reader.ready()) std::this_thread::yield();
      std::uint32_t words[15];
      std::memcpy(words, ring.reader.cell().rest, sizeof words);
      for (std::uint32_t i = 0; i < 15; ++i) ASSERT_EQ(words[i], static_cast<std::uint32_t>(n) + i);
      ring.reader.advance();
      if (ring.reader.return_is_due()) ring.reader.give_back(ring.taken);
    }
  });
  for (std::uint64_t n = 0; n < kPackets; ++n) {
    while (ring.writer.full()) {
      std::this_thread::yield();
      ASSERT_TRUE(ring.writer.returned(ring.taken));
    }
    std::uint32_t words[15];
    for (std::uint32_t i = 0; i < 15; ++i) words[i] = static_cast<std::uint32_t>(n) + i;
    std::memcpy(ring.writer.cell().rest, words, sizeof words);
    ring.writer.publish();
  }
  reader.join();
}

// A full inbox is waited for, a damaged one is not.
TEST(Inbox, CountsThatMakeNoSenseAreNoFullInbox) {
  InboxHeader header{};
  std::vector<Cell> cells(4);
  const Inbox inbox{&header, cells.data(), 4};
  const auto put = [&] { return inbox.put(1, [](Cell&) {}); };
  for (int i = 0; i < 4; ++i) EXPECT_EQ(put(), Inbox::Put::done);
  EXPECT_EQ(put(), Inbox::Put::full);
  EXPECT_TRUE(InboxReader(inbox).sane(2));
  for (const auto& [tail, taken] : {std::pair<std::uint64_t, std::uint64_t>{1000000, 0}, {0, 5}, {3, UINT64_MAX}}) {
    header.tail = tail, header.taken = taken;
    EXPECT_EQ(put(), Inbox::Put::damaged) << tail << " " << taken;
    EXPECT_FALSE(inbox.has_room());
  }
  header.tail = 1000000;
  EXPECT_FALSE(InboxReader(inbox).sane(2));
}

}  // namespace
}  // namespace rmq::shm
