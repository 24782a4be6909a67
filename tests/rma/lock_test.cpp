// SPDX-License-Identifier: BSD-3-Clause
// The lock and the region mutexes, with threads for ranks.
#include <gtest/gtest.h>
#include <sched.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "rma/memory/regions.hpp"
#include "rma/memory/rw_lock.hpp"

namespace {

using rmq::rma::Control;
using rmq::rma::LockPlace;
using rmq::rma::LockType;
using rmq::rma::RegionGuard;
using rmq::rma::Regions;
using rmq::rma::RwLock;

void take(RwLock& lock, LockType type, LockPlace& place) {
  lock.begin(type, place);
  while (!lock.try_take(place)) ::sched_yield();
}

TEST(RmaLock, WritersAreAloneAndNeitherSideStarves) {
  RwLock lock;
  std::atomic<int> readers{0}, writers{0};
  std::atomic<bool> stop{false}, broken{false};
  std::array<std::atomic<int>, 4> turns{};
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < turns.size(); ++i) {
    threads.emplace_back([&, i] {
      const LockType type = i < 2 ? LockType::shared : LockType::exclusive;
      while (!stop) {
        LockPlace place;
        take(lock, type, place);
        std::atomic<int>& mine = type == LockType::shared ? readers : writers;
        ++mine;
        if (writers > 1 || (writers == 1 && readers > 0)) broken = true;
        --mine;
        lock.release(place);
        ++turns[i];
      }
    });
  }
  // Overlapping readers do not keep a writer out, nor writers a reader: everybody gets on.
  for (const auto& t : turns) {
    while (t < 100) ::sched_yield();
  }
  stop = true;
  for (std::thread& t : threads) t.join();
  EXPECT_FALSE(broken);
}

TEST(RmaLock, AWriterWaitsOnlyForReadersThatCameBefore) {
  RwLock lock;
  LockPlace first, writer, second;
  lock.begin(LockType::shared, first);
  EXPECT_TRUE(first.held);
  lock.begin(LockType::exclusive, writer);
  EXPECT_FALSE(writer.held);
  lock.begin(LockType::shared, second);
  EXPECT_FALSE(second.held);  // it does not overtake
  lock.release(first);
  EXPECT_TRUE(lock.try_take(writer));
  EXPECT_FALSE(lock.try_take(second));
  lock.release(writer);
  EXPECT_TRUE(lock.try_take(second));
  lock.release(second);
}

// Two readers that hold a lock each and want the other's as well, and a writer that waits at each.
TEST(RmaLock, AReaderOvertakesAWriterThatWaitsForReadersAndNoOther) {
  RwLock lock;
  LockPlace first, writer, second, later;
  lock.begin(LockType::shared, first);
  lock.begin(LockType::exclusive, writer);
  lock.begin(LockType::shared, second);
  EXPECT_TRUE(lock.overtake(second));
  EXPECT_EQ(lock.overtaken(), 1u);
  lock.release(first);
  EXPECT_FALSE(lock.try_take(writer));
  lock.release(second);
  EXPECT_TRUE(lock.try_take(writer));
  lock.begin(LockType::shared, later);
  EXPECT_FALSE(lock.overtake(later));
  lock.release(writer);
  EXPECT_EQ(lock.overtaken(), 0u);
  EXPECT_TRUE(lock.overtake(later));  // it has come
  lock.release(later);
  lock.begin(LockType::exclusive, writer);
  EXPECT_TRUE(writer.held);
}

void sums_add_up_across_borders(std::uint64_t granularity) {
  constexpr std::size_t kElements = 4000;
  std::vector<std::byte> memory(kElements * 8 + 64);
  void* place = std::aligned_alloc(rmq::kCacheLine, (Control::bytes(4) + 63) / 64 * 64);
  Control* control = Control::make(place, 4);
  std::byte* base = memory.data();
  std::vector<std::thread> threads;
  for (int me = 0; me < 4; ++me) {
    threads.emplace_back([&, me] {
      Regions regions;
      regions.control = control;
      regions.base = base;
      regions.shift = Regions::shift_for(memory.size(), granularity);
      regions.me = me;
      for (int round = 0; round < 20; ++round) {
        RegionGuard guard(regions);
        // Elements of 8 bytes, three bytes off: each border has one across it.
        for (std::uint64_t i = 0; i < kElements;) {
          std::byte* at = base + 3 + i * 8;
          const std::uint64_t n = guard.cover(at, 8, kElements - i);
          for (std::uint64_t k = 0; k < n; ++k) {
            std::uint64_t x = 0;
            std::memcpy(&x, at + k * 8, 8);
            ++x;
            std::memcpy(at + k * 8, &x, 8);
          }
          i += n;
        }
      }
    });
  }
  for (std::thread& t : threads) t.join();
  for (std::size_t i = 0; i < kElements; ++i) {
    std::uint64_t x = 0;
    std::memcpy(&x, base + 3 + i * 8, 8);
    ASSERT_EQ(x, 80u) << i;
  }
  std::free(place);
}

TEST(RmaRegions, SumsOfThreadsAddUpAcrossBorders) {
  sums_add_up_across_borders(0);
}

TEST(RmaRegions, SumsOfThreadsAddUpWhereEachElementHasTwoMutexes) {
  sums_add_up_across_borders(1);  // regions of 8 bytes: more than there are mutexes
}

// Whoever names an element of another process may say that it is as long as he likes.
TEST(RmaRegions, AnElementMayLieAcrossMoreRegionsThanThereAreMutexes) {
  std::vector<std::byte> memory(8192);
  void* place = std::aligned_alloc(rmq::kCacheLine, (Control::bytes(1) + 63) / 64 * 64);
  Regions regions;
  regions.control = Control::make(place, 1);
  regions.base = memory.data();
  regions.shift = 3;
  const auto held = [&] {
    std::size_t n = 0;
    for (const auto& mutex : regions.control->regions) n += mutex.holder.load(std::memory_order_relaxed) != 0;
    return n;
  };
  {
    RegionGuard guard(regions);
    EXPECT_EQ(guard.cover(memory.data() + 4, 1000, 3), 1u);
    EXPECT_EQ(held(), Control::kRegions);
    EXPECT_EQ(guard.cover(memory.data() + 1004, 1000, 2), 1u);
    EXPECT_EQ(held(), Control::kRegions);
    EXPECT_EQ(guard.cover(memory.data() + 2004, 8, 1), 1u);
    EXPECT_EQ(held(), 2u);
    EXPECT_EQ(guard.cover(memory.data() + 2012, 512, 1), 1u);  // 65 regions
    EXPECT_EQ(held(), Control::kRegions);
    EXPECT_EQ(guard.cover(memory.data() + 2524, 508, 1), 1u);  // 64
    EXPECT_EQ(held(), Control::kRegions);
  }
  EXPECT_EQ(held(), 0u);
  std::free(place);
}

TEST(RmaRegions, AreAsFineAsTheProgramWishesAndNoWiderThanWithoutAWish) {
  EXPECT_EQ(Regions::shift_for(512, 0), 10u);
  EXPECT_EQ(Regions::shift_for(1 << 20, 0), 14u);
  EXPECT_EQ(Regions::shift_for(512, 1), 3u);
  EXPECT_EQ(Regions::shift_for(512, 24), 5u);
  EXPECT_EQ(Regions::shift_for(1 << 20, 1 << 18), 14u);
  EXPECT_EQ(Regions::shift_for(0, ~std::uint64_t{0}), 10u);
}

}  // namespace
