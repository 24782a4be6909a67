// SPDX-License-Identifier: BSD-3-Clause
// The explorer itself: what C++ allows is found, what it forbids is not, and a schedule that failed runs again.
#include "tests/explore/explorer.hpp"

#include <gtest/gtest.h>

#include <memory>

#include "base/os/atomic.hpp"

namespace rmq {
namespace {

using explore::Bounds;
using explore::expect;
using explore::Program;
using explore::Report;

constexpr auto kRelaxed = std::memory_order_relaxed;
constexpr auto kAcquire = std::memory_order_acquire;
constexpr auto kRelease = std::memory_order_release;
constexpr auto kSeqCst = std::memory_order_seq_cst;

struct Shared {
  Atomic<int> x{0}, y{0};
  int data = 0;
  int seen[4] = {};
};

using Step = void (*)(Shared&);

Report run(std::vector<Step> threads, void (*after)(Shared&), Bounds bounds = {}) {
  return explore::explore(
      [=] {
        auto shared = std::make_shared<Shared>();
        Program p;
        for (const Step step : threads) p.threads.emplace_back([=] { step(*shared); });
        if (after) p.after = [=] { after(*shared); };
        return p;
      },
      bounds);
}

/// Whether some schedule ends with these values in `seen`.
template <int... Values>
bool reaches(std::vector<Step> threads) {
  return run(std::move(threads),
             [](Shared& s) {
               const int wanted[] = {Values...};
               expect(!std::equal(std::begin(wanted), std::end(wanted), s.seen), "reached");
             })
      .failed;
}

TEST(Explorer, StoresMayPassLaterLoads) {
  EXPECT_TRUE((reaches<0, 0>({[](Shared& s) { s.x.store(1, kRelease), s.seen[0] = s.y.load(kAcquire); },
                              [](Shared& s) { s.y.store(1, kRelease), s.seen[1] = s.x.load(kAcquire); }})));
  EXPECT_FALSE((reaches<0, 0>({[](Shared& s) { s.x.store(1, kSeqCst), s.seen[0] = s.y.load(kSeqCst); },
                               [](Shared& s) { s.y.store(1, kSeqCst), s.seen[1] = s.x.load(kSeqCst); }})));
}

TEST(Explorer, FullFencesKeepStoresBeforeLoads) {
  EXPECT_FALSE((reaches<0, 0>(
      {[](Shared& s) { s.x.store(1, kRelaxed), os::thread_fence(kSeqCst), s.seen[0] = s.y.load(kRelaxed); },
       [](Shared& s) { s.y.store(1, kRelaxed), os::thread_fence(kSeqCst), s.seen[1] = s.x.load(kRelaxed); }})));
  EXPECT_TRUE((reaches<0, 0>(
      {[](Shared& s) { s.x.store(1, kRelaxed), os::thread_fence(kSeqCst), s.seen[0] = s.y.load(kRelaxed); },
       [](Shared& s) { s.y.store(1, kRelaxed), s.seen[1] = s.x.load(kRelaxed); }})));
}

TEST(Explorer, AReadModifyWriteIsNoFenceForOtherLocations) {
  EXPECT_TRUE((reaches<0, 0>({[](Shared& s) { s.x.exchange(1, kSeqCst), s.seen[0] = s.y.load(kAcquire); },
                              [](Shared& s) { s.y.exchange(1, kSeqCst), s.seen[1] = s.x.load(kAcquire); }})));
}

TEST(Explorer, AnAsymmetricFenceNeedsBothHalves) {
  const Step light = [](Shared& s) { s.x.store(1, kRelaxed), os::compiler_fence(), s.seen[0] = s.y.load(kRelaxed); };
  const Step heavy = [](Shared& s) { s.y.store(1, kRelaxed), explore::heavy_fence(), s.seen[1] = s.x.load(kRelaxed); };
  const Step none = [](Shared& s) { s.y.store(1, kRelaxed), s.seen[1] = s.x.load(kRelaxed); };
  const Step light_too = [](Shared& s) {
    s.y.store(1, kRelaxed), os::compiler_fence(), s.seen[1] = s.x.load(kRelaxed);
  };
  EXPECT_FALSE((reaches<0, 0>({light, heavy})));
  EXPECT_TRUE((reaches<0, 0>({light, none})));
  EXPECT_TRUE((reaches<0, 0>({light, light_too})));
}

TEST(Explorer, AReleaseIsSeenByAnAcquireOnly) {
  const Step write = [](Shared& s) { explore::plain_write(&s.data, "data"), s.x.store(1, kRelease); };
  const Step write_relaxed = [](Shared& s) { explore::plain_write(&s.data, "data"), s.x.store(1, kRelaxed); };
  const Step read = [](Shared& s) {
    if (s.x.load(kAcquire)) explore::plain_read(&s.data, "data");
  };
  const Step read_relaxed = [](Shared& s) {
    if (s.x.load(kRelaxed)) explore::plain_read(&s.data, "data");
  };
  const Step read_fenced = [](Shared& s) {
    const int x = s.x.load(kRelaxed);
    os::thread_fence(kAcquire);
    if (x) explore::plain_read(&s.data, "data");
  };
  EXPECT_FALSE(run({write, read}, nullptr).failed);
  EXPECT_FALSE(run({write, read_fenced}, nullptr).failed);
  EXPECT_TRUE(run({write, read_relaxed}, nullptr).failed);
  EXPECT_TRUE(run({write_relaxed, read}, nullptr).failed);
}

TEST(Explorer, ReleasesPassThroughReadModifyWrites) {
  const Step write = [](Shared& s) { explore::plain_write(&s.data, "data"), s.x.store(1, kRelease); };
  const Step count = [](Shared& s) { s.x.fetch_add(1, kRelaxed); };
  const Step read = [](Shared& s) {
    if (s.x.load(kAcquire) == 2) explore::plain_read(&s.data, "data");
  };
  EXPECT_FALSE(run({write, count, read}, nullptr).failed);
  const Step overwrite = [](Shared& s) {
    if (s.x.load(kRelaxed) == 1) s.x.store(2, kRelaxed);
  };
  EXPECT_TRUE(run({write, overwrite, read}, nullptr).failed);
}

TEST(Explorer, NobodyReadsBackwards) {
  EXPECT_FALSE((reaches<1, 0>({[](Shared& s) { s.x.store(1, kRelaxed); },
                               [](Shared& s) { s.seen[0] = s.x.load(kRelaxed), s.seen[1] = s.x.load(kRelaxed); }})));
}

TEST(Explorer, WritersOfTwoLocationsAreSeenInTwoOrders) {
  EXPECT_TRUE(
      (reaches<1, 0, 1, 0>({[](Shared& s) { s.x.store(1, kRelease); }, [](Shared& s) { s.y.store(1, kRelease); },
                            [](Shared& s) { s.seen[0] = s.x.load(kAcquire), s.seen[1] = s.y.load(kAcquire); },
                            [](Shared& s) { s.seen[2] = s.y.load(kAcquire), s.seen[3] = s.x.load(kAcquire); }})));
}

TEST(Explorer, AdditionsAreNotLost) {
  const Step add = [](Shared& s) { s.x.fetch_add(1, kRelaxed); };
  EXPECT_FALSE(run({add, add, add}, [](Shared& s) { expect(s.x.load(kRelaxed) == 3, "all counted"); }).failed);
  const Step add_torn = [](Shared& s) { s.x.store(s.x.load(kRelaxed) + 1, kRelaxed); };
  EXPECT_TRUE(run({add_torn, add}, [](Shared& s) { expect(s.x.load(kRelaxed) == 2, "all counted"); }).failed);
}

TEST(Explorer, ASpinEndsWhenAStoreBecomesVisible) {
  const Report r = run({[](Shared& s) {
                          while (s.x.load(kRelaxed) == 0) explore::pause();
                        },
                        [](Shared& s) { s.x.store(1, kRelaxed); }},
                       nullptr);
  EXPECT_FALSE(r.failed) << r.text;
  EXPECT_TRUE(r.complete);
  EXPECT_EQ(r.cut, 0u);
}

TEST(Explorer, WaitingForNothingFails) {
  const Report r = run({[](Shared& s) {
                         while (s.x.load(kRelaxed) == 0) explore::pause();
                       }},
                       nullptr);
  EXPECT_TRUE(r.failed);
  EXPECT_EQ(r.why, "nobody can go on: 0 (looks in vain)");
}

TEST(Explorer, TriesEveryOrderOnce) {
  const Step two = [](Shared& s) { s.x.fetch_add(1, kRelaxed), s.x.fetch_add(1, kRelaxed); };
  // Two threads of two accesses: 4! / (2! 2!) orders.
  const Report r = run({two, two}, nullptr, {.preemptions = 10});
  EXPECT_TRUE(r.complete);
  EXPECT_EQ(r.schedules, 6u);
}

TEST(Explorer, AFailureRunsAgainByItsNumber) {
  const explore::Model model = [] {
    auto shared = std::make_shared<Shared>();
    Program p;
    p.threads = {[=] { shared->x.store(1, kRelaxed), shared->x.store(2, kRelaxed); },
                 [=] { expect(shared->x.load(kRelaxed) != 1, "one"); }};
    return p;
  };
  const Report r = explore::explore(model, {});
  ASSERT_TRUE(r.failed);
  const Report again = explore::replay(model, {}, r.number);
  EXPECT_TRUE(again.failed);
  EXPECT_EQ(again.text, r.text);
  const Report random = explore::explore(model, {.preemptions = 0, .stale = 0, .random = 1000});
  ASSERT_TRUE(random.failed);
  EXPECT_GE(random.number, explore::kRandom);
  EXPECT_EQ(explore::replay(model, {}, random.number).text, random.text);
}

}  // namespace
}  // namespace rmq
