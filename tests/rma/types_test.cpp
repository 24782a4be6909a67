// SPDX-License-Identifier: BSD-3-Clause
// How long the datatypes that operations name are kept, at both ends, and what becomes of those that are too long.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "rma/long_window.hpp"

namespace {

using namespace rmq;
using namespace rmq::testing;
using rma::Fault;
using Packets = std::vector<std::string>;

std::size_t count_of(const Packets& packets, const char* name) {
  return static_cast<std::size_t>(
      std::count_if(packets.begin(), packets.end(), [&](const std::string& p) { return p.starts_with(name); }));
}

/// Every other one of n longs.
LayoutRef apart(std::uint64_t n) {
  return Layout::hvector(n, 1, 16, *kLong);
}

/// Blocks of 1, 2 and 3 longs in turn, in 5 n: told with all their places.
LayoutRef irregular(std::uint64_t blocks) {
  std::vector<std::uint64_t> lengths;
  std::vector<std::int64_t> places;
  for (std::uint64_t i = 0; i < blocks; ++i) {
    lengths.push_back(1 + i % 3);
    places.push_back(static_cast<std::int64_t>(40 * i + i % 2 * 8));
  }
  return Layout::hindexed(lengths, places, *kLong);
}

TEST(RmaTypes, ADatatypeFreedBeforeItsOperationIsDoneIsDefinedAgain) {
  Fibers f(2, {}, [](Config& c) { c.rma_types = 1; });
  EXPECT_TRUE(f.run([&](int me) {
    std::vector<std::int64_t> memory;
    auto w = open_longs(f, me, memory, 100);
    if (me == 0) {
      const LayoutRef a = apart(3), b = apart(4);
      const std::vector<std::int64_t> data{1, 2, 3, 4};
      EXPECT_EQ(w->lock_all(0), Fault::none);
      const auto put = [&](const LayoutRef& type, std::uint64_t n) {
        EXPECT_EQ(w->put(DataView::contiguous(data.data(), 8 * n), {1, 0, type.get(), 1}), Fault::none);
      };
      put(a, 3);
      EXPECT_EQ(w->flush(1), Fault::none);
      put(b, 4);
      EXPECT_EQ(w->flush(1), Fault::none);
      put(a, 3);
      EXPECT_EQ(w->flush_local(1), Fault::none);
      f.domain(0).forget(a.get());
      EXPECT_EQ(w->unlock_all(), Fault::none);
    }
    f.barrier(me);
    if (me == 1) {
      EXPECT_EQ(memory[4], 3);
    }
    f.close(me, std::move(w));
    EXPECT_EQ(f.domain(me).counters().protocol_errors, 0u);
  }));
}

TEST(RmaTypes, AnEpochThatEndsWithoutAnAcknowledgementKeepsItsDatatypes) {
  for (const bool fence : {true, false}) {
    Fibers f(2, {});
    EXPECT_TRUE(f.run([&](int me) {
      std::vector<std::int64_t> memory;
      auto w = open_longs(f, me, memory, 100);
      const int other = 1 - me;
      const std::vector<std::int64_t> data{1, 2, 3};
      EXPECT_EQ(fence ? w->fence(0) : Fault::none, Fault::none);
      for (std::int64_t round = 0; round < 5; ++round) {
        LayoutRef type = apart(3);
        if (!fence) {
          EXPECT_EQ(w->post({&other, 1}, 0), Fault::none);
        }
        if (!fence) {
          EXPECT_EQ(w->start({&other, 1}, 0), Fault::none);
        }
        for (int i = 0; i < 3; ++i) {
          const DataView from = DataView::contiguous(data.data(), 24);
          EXPECT_EQ(w->put(from, {other, round, type.get(), 1}), Fault::none);
        }
        f.domain(me).drop_types();  // as when others have driven them out
        EXPECT_EQ(fence ? w->fence(0) : w->complete(), Fault::none);
        f.domain(me).forget(type.get());
        type = {};
        if (!fence) {
          EXPECT_EQ(w->wait(), Fault::none);
        }
        EXPECT_EQ(memory[static_cast<std::size_t>(round) + 4], 3);
      }
      if (fence) {
        EXPECT_EQ(w->fence(rma::assertion::nosucceed), Fault::none);
      }
      f.close(me, std::move(w));
      EXPECT_EQ(f.domain(me).counters().protocol_errors, 0u);
    }));
  }
}

TEST(RmaTypes, AnOriginWithManyDatatypesDoesNotDriveOutThoseOfOthers) {
  Fibers f(3, {}, [](Config& c) { c.rma_types = 4; });
  EXPECT_TRUE(f.run([&](int me) {
    std::vector<std::int64_t> memory;
    auto w = open_longs(f, me, memory, 200);
    const std::vector<std::int64_t> data(20, 7);
    EXPECT_EQ(w->lock_all(0), Fault::none);
    const LayoutRef mine = apart(2);
    for (std::uint64_t i = 0; i < 12; ++i) {
      const LayoutRef type = me == 2 ? apart(2 + i) : mine;
      const std::uint64_t n = me == 2 ? 2 + i : 2;
      if (me != 0) {
        EXPECT_EQ(w->put(DataView::contiguous(data.data(), 8 * n), {0, 0, type.get(), 1}), Fault::none);
        EXPECT_EQ(w->flush(0), Fault::none);
      }
      if (me == 2) {  // four more than fit, all in turn
        for (std::uint64_t k = 0; k < 5; ++k) {
          const LayoutRef more = apart(14 + k);
          EXPECT_EQ(w->put(DataView::contiguous(data.data(), 8 * (14 + k)), {0, 0, more.get(), 1}), Fault::none);
        }
        EXPECT_EQ(w->flush(0), Fault::none);
      }
      f.barrier(me);
    }
    EXPECT_EQ(w->unlock_all(), Fault::none);
    if (me == 1) {
      EXPECT_EQ(count_of(f.sent(1), "DATATYPE_DEFN"), 1u);
    }
    f.close(me, std::move(w));
  }));
}

TEST(RmaTypes, ADefinitionThatNoTargetKeepsIsRefused) {
  Fibers f(2, {}, [](Config& c) { c.rma_type_bytes = 1000; });
  EXPECT_TRUE(f.run([&](int me) {
    std::vector<std::int64_t> memory;
    auto w = open_longs(f, me, memory, 1000);
    if (me == 0) {
      const LayoutRef type = irregular(100);
      const std::vector<std::int64_t> data(type->size() / 8, 1);
      EXPECT_EQ(w->lock_all(0), Fault::none);
      EXPECT_EQ(w->put(view(data), {1, 0, type.get(), 1}), Fault::definition);
      EXPECT_EQ(w->put(view(data), {0, 0, type.get(), 1}), Fault::none);  // nobody has to be told
      EXPECT_EQ(w->unlock_all(), Fault::none);
    }
    f.close(me, std::move(w));
  }));
}

TEST(RmaTypes, ALongDefinitionIsToldUnlessItIsForbidden) {
  Fibers f(2, {});
  constexpr std::uint64_t kBlocks = 400'000;
  EXPECT_TRUE(f.run([&](int me) {
    std::vector<std::int64_t> memory;
    auto w = open_longs(f, me, memory, 5 * kBlocks);
    if (me == 0) {
      const LayoutRef type = irregular(kBlocks);
      const std::vector<std::int64_t> data(type->size() / 8, 1);
      EXPECT_EQ(w->lock_all(0), Fault::none);
      EXPECT_EQ(w->put(view(data), {1, 0, type.get(), 1}), Fault::none);
      EXPECT_EQ(w->unlock_all(), Fault::none);
    }
    f.barrier(me);
    if (me == 1) {
      EXPECT_EQ(memory[5 * (kBlocks - 1) + 1], 1);
    }
    f.close(me, std::move(w));
  }));
}

// The origin would keep more than one of its targets: it hears of that from the operation, and nothing is held up.
TEST(RmaTypes, ADefinitionThatThisTargetDoesNotKeepIsRefused) {
  int rank = 0;
  Fibers f(3, {}, [&](Config& c) { c.rma_type_bytes = rank++ == 1 ? 1000 : 1 << 20; });
  EXPECT_TRUE(f.run([&](int me) {
    std::vector<std::int64_t> memory;
    auto w = open_longs(f, me, memory, 1000);
    const LayoutRef type = irregular(100);
    const std::vector<std::int64_t> data(type->size() / 8, 1);
    std::vector<std::int64_t> got = data;
    const std::int64_t one = 1;
    EXPECT_EQ(w->fence(0), Fault::none);
    if (me == 0) {
      EXPECT_EQ(w->put(view(data), {1, 0, type.get(), 1}), Fault::definition);
      EXPECT_EQ(w->get(view(got), {1, 0, type.get(), 1}), Fault::definition);
      EXPECT_EQ(w->put(view(data), {2, 0, type.get(), 1}), Fault::none);
      EXPECT_EQ(w->put(DataView::contiguous(&one, 8), {1, 999, kLong.get(), 1}), Fault::none);
    }
    EXPECT_EQ(w->fence(0), Fault::none);
    EXPECT_EQ(std::count(memory.begin(), memory.end(), 1), me == 0 ? 0 : me == 1 ? 1 : 199);
    EXPECT_EQ(f.domain(me).counters().protocol_errors, 0u);
    f.close(me, std::move(w));
  }));
}

TEST(RmaTypes, AForgottenDatatypeHoldsUpNoMoreThanAFlight) {
  for (const std::size_t fragment : {std::size_t{4096}, std::size_t{1} << 20}) {
    methods::InprocRules rules;
    rules.fragment_max = fragment;
    Fibers f(2, rules);
    constexpr std::uint64_t kLongs = 1 << 20;  // 8 MB, four flights
    EXPECT_TRUE(f.run([&](int me) {
      std::vector<std::int64_t> memory;
      auto w = open_longs(f, me, memory, 2 * kLongs);
      const LayoutRef type = apart(kLongs);
      std::vector<std::int64_t> data(kLongs);
      std::iota(data.begin(), data.end(), 0);
      EXPECT_EQ(w->lock_all(0), Fault::none);
      if (me == 0) {
        for (int i = 0; i < 2; ++i) {
          EXPECT_EQ(w->put(view(data), {1, 0, type.get(), 1}), Fault::none);
          f.domain(1).drop_types();
          EXPECT_EQ(w->flush(1), Fault::none);
          f.domain(1).drop_types();
        }
      }
      EXPECT_EQ(w->unlock_all(), Fault::none);
      f.barrier(me);
      if (me == 1) {
        for (std::size_t i = 0; i < kLongs; ++i) ASSERT_EQ(memory[2 * i], static_cast<std::int64_t>(i));
        EXPECT_GT(f.domain(1).counters().held_most, 0u);
        EXPECT_LE(f.domain(1).counters().held_most, 5u << 19);  // 2.5 MB
        EXPECT_EQ(f.domain(1).counters().protocol_errors, 0u);
      }
      f.close(me, std::move(w));
    }));
  }
}

}  // namespace
