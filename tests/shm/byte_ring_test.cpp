// SPDX-License-Identifier: BSD-3-Clause
#include "shm/byte_ring.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <deque>
#include <random>
#include <vector>

#include "shm/link.hpp"

namespace rmq::shm {
namespace {

constexpr std::uint32_t kSize = 4096;

TEST(ByteRing, PayloadsLieInOnePieceAndSkipToTheStart) {
  struct Case {
    std::uint64_t position;
    std::uint32_t length;
    std::uint64_t at, end;
  };
  for (const Case& c :
       {Case{0, 1, 0, 64}, Case{64, 64, 64, 128}, Case{4032, 64, 4032, 4096}, Case{4032, 65, 4096, 4224},
        Case{4096 + 3072, 1024, 7168, 8192}, Case{4096 + 3136, 1024, 8192, 9216}}) {
    EXPECT_EQ(place(c.position, c.length, kSize), c.at) << c.position << " " << c.length;
    EXPECT_EQ(end_of(c.at, c.length), c.end) << c.position << " " << c.length;
  }
}

TEST(ByteRing, WriterAndReaderAgreeOnEveryPlaceForEver) {
  for (const std::uint64_t start : {std::uint64_t{0}, std::uint64_t{3 * kSize + 64}, std::uint64_t{1} << 40}) {
    std::vector<std::byte> memory(kSize);
    std::atomic<std::uint64_t> taken{start};
    ByteWriter writer(memory.data(), kSize, kSize, start);
    ByteReader reader(memory.data(), kSize, kSize, start);
    std::mt19937 random(7);
    std::deque<std::pair<std::uint32_t, std::byte>> flying;
    int moved = 0;
    for (int step = 0; step < 20000; ++step) {
      const std::uint32_t length = 1 + static_cast<std::uint32_t>(random() % max_payload(kSize));
      if (std::byte* to = writer.reserve(length)) {
        const auto fill = static_cast<std::byte>(random());
        std::memset(to, std::to_integer<int>(fill), length);
        flying.emplace_back(length, fill);
        continue;
      }
      // Full: the reader empties the ring, returning lazily. After that there must be room.
      while (!flying.empty()) {
        const auto [bytes, fill] = flying.front();
        flying.pop_front();
        const std::byte* from = reader.take(bytes);
        for (std::uint32_t i = 0; i < bytes; ++i) ASSERT_EQ(from[i], fill);
        if (reader.return_is_due()) reader.give_back(taken);
        ++moved;
      }
      ASSERT_TRUE(writer.returned(taken));
      std::byte* const to = writer.reserve(length);
      ASSERT_NE(to, nullptr) << "an emptied ring has room for the largest payload";
      std::memset(to, 1, length);
      flying.emplace_back(length, std::byte{1});
    }
    EXPECT_GT(moved, 1000);
  }
}

TEST(ByteRing, ARefusedReservationChangesNothing) {
  std::vector<std::byte> memory(kSize);
  ByteWriter writer(memory.data(), kSize, kSize);
  for (int i = 0; i < 3; ++i) ASSERT_NE(writer.reserve(1024), nullptr);
  ASSERT_NE(writer.reserve(960), nullptr);
  EXPECT_EQ(writer.reserve(65), nullptr);
  EXPECT_EQ(writer.reserve(65), nullptr);
  EXPECT_EQ(writer.reserve(64), memory.data() + 4032);
}

// Writer and reader take turns of random length, from every size at the start; the writer grows where it is out of
// room, or waits. What lies in the ring must stay as it was written until it is read.
TEST(ByteRing, KeepsWhatIsUnreadWhileItGrows) {
  std::mt19937 random(11);
  int grown = 0, again = 0, waited = 0;
  for (int round = 0; round < 4000; ++round) {
    const std::uint32_t whole = kSize << random() % 5;
    const std::uint32_t first = std::min(64u << random() % 11, whole);
    const std::uint64_t start = kCacheLine * (random() % 1000);
    std::vector<std::byte> memory(whole);
    std::atomic<std::uint64_t> taken{start};
    ByteWriter writer(memory.data(), whole, first, start);
    ByteReader reader(memory.data(), whole, first, start);
    const int before = grown;
    struct Payload {
      std::uint32_t length;
      std::uint16_t grown;  // the mark
      std::byte fill;
    };
    std::deque<Payload> flying;
    const std::uint32_t most =
        1 + static_cast<std::uint32_t>(random() % std::min(max_payload(whole), 1u << random() % 12));
    for (int step = 0; step < 200; ++step) {
      if (random() % 2 != 0) {
        Payload p{1 + static_cast<std::uint32_t>(random() % most), 0, static_cast<std::byte>(step)};
        std::byte* to = writer.reserve(p.length);
        if (!to) {
          ASSERT_TRUE(writer.returned(taken));
          to = writer.reserve(p.length);
        }
        std::uint64_t size = writer.next_size(p.length);
        if (!to && random() % 4 != 0 && size != writer.size()) {
          while (size > writer.least_size(p.length) && random() % 2 != 0) size /= 2;
          p.grown = writer.grow(size);
          again += ++grown - before > 1;
          to = writer.reserve(p.length);
          ASSERT_NE(to, nullptr) << "a growth makes room";
        }
        if (!to) {
          ++waited;
          continue;
        }
        ASSERT_GE(to, memory.data());
        ASSERT_LE(to + p.length, memory.data() + whole);
        std::memset(to, std::to_integer<int>(p.fill), p.length);
        flying.push_back(p);
      } else if (!flying.empty()) {
        const Payload p = flying.front();
        flying.pop_front();
        if (p.grown != 0) {
          ASSERT_TRUE(reader.grow(p.grown));
        }
        const std::byte* from = reader.take(p.length);
        for (std::uint32_t i = 0; i < p.length; ++i)
          ASSERT_EQ(from[i], p.fill) << "round " << round << " step " << step;
        if (reader.return_is_due()) reader.give_back(taken);
      }
    }
  }
  EXPECT_GT(grown, 2000);
  EXPECT_GT(again, 500);
  EXPECT_GT(waited, 2000);
}

TEST(ByteRing, UsesNoMoreMemoryThanItsPairNeeds) {
  std::vector<std::byte> memory(kSize);
  std::atomic<std::uint64_t> taken{0};
  ByteWriter writer(memory.data(), kSize, 1024);
  ByteReader reader(memory.data(), kSize, 1024);
  for (int n = 0; n < 100; ++n) {
    std::byte* to = writer.reserve(200);
    if (!to) {
      ASSERT_TRUE(writer.returned(taken));
      to = writer.reserve(200);
    }
    ASSERT_NE(to, nullptr);
    ASSERT_LE(to + 200, memory.data() + 1024);
    ASSERT_EQ(reader.take(200), to);
    if (reader.return_is_due()) reader.give_back(taken);
  }
  EXPECT_EQ(writer.least_size(1), 2048u);
  EXPECT_EQ(writer.least_size(1000), 4096u) << "four of them at least";
  EXPECT_EQ(writer.next_size(257), 2048u) << "too long for the ring: no more than four of them need";
  EXPECT_EQ(writer.next_size(256), kSize) << "a full ring: for all that may be under way";
  const std::uint16_t mark = writer.grow(writer.next_size(1));
  EXPECT_EQ(mark, 11) << "twice as much at least";
  EXPECT_EQ(writer.reserve(1024), memory.data() + 1024) << "behind the old part";
  EXPECT_TRUE(reader.grow(mark));
  for (const std::uint16_t bad : {std::uint16_t{0}, mark, std::uint16_t{13}, std::uint16_t{32}, std::uint16_t{64}})
    EXPECT_FALSE(reader.grow(bad)) << bad;
  EXPECT_EQ(writer.grow(writer.next_size(max_payload(kSize))), 12) << "no more than there is";
  EXPECT_EQ(writer.next_size(1), writer.size()) << "there is no more";
}

TEST(ByteRing, ImpossibleReturnsAreRefused) {
  std::vector<std::byte> memory(kSize);
  ByteWriter writer(memory.data(), kSize, kSize, 10 * kSize);
  ASSERT_NE(writer.reserve(100), nullptr);
  for (const std::uint64_t bad : {std::uint64_t{10 * kSize + 129}, std::uint64_t{9 * kSize}, UINT64_MAX}) {
    std::atomic<std::uint64_t> taken{bad};
    EXPECT_FALSE(writer.returned(taken)) << bad;
  }
}

// What a sender of ours never writes ends the link, and no payload is looked for outside of the ring.
TEST(ByteRing, MarksOfGrowthAreTakenOnceAndOnlyWhereThereIsRoom) {
  struct Case {
    std::uint32_t first;
    std::vector<std::uint16_t> spares;
    bool last_is_read;
  };
  const std::uint16_t all = 12, less = 11;
  for (const Case& c :
       {Case{1024, {0, all, 0}, true}, Case{1024, {0, less, all}, true}, Case{1024, {all, all}, false},
        Case{1024, {all, less}, false}, Case{kSize, {all}, false}, Case{1024, {13}, false}, Case{1024, {76}, false}}) {
    std::vector<std::byte> memory(kSize);
    std::vector<Cell> cells(4);
    RingHeader header{};
    RankControl control{};
    Inbound in(Ring{&header, cells.data(), memory.data()}, {2, 4, kSize, c.first, 0}, control, 1, 1);
    for (std::size_t i = 0; i < c.spares.size(); ++i) {
      Packet sent(Kind::SHORT), packet;
      sent.length = kSize / 4;  // more than fits the small part beside another
      sent.spare = c.spares[i];
      std::memcpy(static_cast<void*>(&cells[i]), &sent, sizeof sent);
      const std::byte* payload = nullptr;
      const bool read = in.read(packet, payload);
      EXPECT_EQ(read, i + 1 < c.spares.size() || c.last_is_read) << c.first << ", " << i;
      if (read) {
        EXPECT_GE(payload, memory.data());
        EXPECT_LE(payload + sent.length, memory.data() + kSize);
        EXPECT_EQ(packet.spare, 0);
      }
      in.cells.advance();
    }
  }
}

}  // namespace
}  // namespace rmq::shm
