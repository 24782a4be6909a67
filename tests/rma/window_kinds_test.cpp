// SPDX-License-Identifier: BSD-3-Clause
// What is peculiar to a kind of window: memory that is attached, agents, memory that the ranks share.
#include <gtest/gtest.h>

#include "rma/long_window.hpp"

namespace {

using namespace rmq;
using rma::Fault;
using rma::Flavor;
using rma::Target;
using rma::Window;
using rma::WindowOptions;
using rmq::testing::Fibers;
using rmq::testing::kLong;
using rmq::testing::open_dynamic;

TEST(RmaDynamic, MemoryMustBeAttached) {
  methods::InprocRules rules;
  Fibers f(2, rules);
  EXPECT_TRUE(f.run([&](int me) {
    auto w = open_dynamic(f, me);
    std::vector<std::int64_t> memory(100, 0);
    EXPECT_EQ(w->attach(memory.data(), 800), Fault::none);
    EXPECT_EQ(w->attach(memory.data() + 50, 80), Fault::attach);
    const auto at = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(memory.data()));
    const auto all = f.gather(me, {&at, 1});
    EXPECT_EQ(w->lock_all(0), Fault::none);
    const std::int64_t x = 40 + me;
    for (int t = 0; t < 2; ++t) {
      const auto there = static_cast<std::int64_t>(all[static_cast<std::size_t>(t)]);
      EXPECT_EQ(w->put(DataView::contiguous(&x, 8), {t, there + 8 * me, kLong.get(), 1}), Fault::none);
      EXPECT_EQ(w->flush(t), Fault::none);
      const Fault beyond = w->put(DataView::contiguous(&x, 8), {t, there + 800, kLong.get(), 1});
      EXPECT_EQ(beyond == Fault::none ? w->flush(t) : beyond, Fault::range);
    }
    EXPECT_EQ(w->unlock_all(), Fault::none);
    f.barrier(me);
    EXPECT_EQ(memory[0], 40);
    EXPECT_EQ(memory[1], 41);
    EXPECT_EQ(w->detach(memory.data()), Fault::none);
    EXPECT_EQ(w->detach(memory.data()), Fault::attach);
    f.close(me, std::move(w));
  }));
}

// `distance`: to the target, in places; 0: its own memory.
void use_names(int distance) {
  methods::InprocRules rules;
  Fibers f(3, rules);
  EXPECT_TRUE(f.run([&](int me) {
    constexpr std::uint64_t kFirst = 1 << 20, kSecond = kFirst + 80;  // names that touch, of memory that does not
    std::vector<std::int64_t> first(10, 0), second(10, 0);
    rma::Hints hints;
    hints.cpu_atomics = true;
    auto w = open_dynamic(f, me, hints);
    EXPECT_EQ(w->attach(first.data(), 80, kFirst), Fault::none);
    EXPECT_EQ(w->attach(second.data(), 80, kSecond), Fault::none);
    EXPECT_EQ(w->attach(second.data(), 80, kSecond + 8), Fault::attach);
    f.barrier(me);
    EXPECT_EQ(w->lock_all(rma::assertion::nocheck), Fault::none);
    const int to = (me + distance) % 3;
    const auto at = [&](std::uint64_t name) { return Target{to, static_cast<std::int64_t>(name), kLong.get(), 1}; };
    std::int64_t x = 7 + me, before = -1;
    EXPECT_EQ(w->put(DataView::contiguous(&x, 8), at(kSecond + 16)), Fault::none);
    rma::Completion put = w->completion(to, rma::Until::remote);
    x = 5;  // what is short is copied when it is issued
    EXPECT_EQ(w->accumulate(DataView::contiguous(&x, 8), at(kFirst + 8), ReduceOp::sum), Fault::none);
    EXPECT_EQ(w->finish({&put, 1}), Fault::none);
    EXPECT_EQ(w->fetch_and_op(&x, &before, at(kFirst + 8), ReduceOp::sum), Fault::none);
    EXPECT_EQ(w->flush(to), Fault::none);
    EXPECT_EQ(before, 5);
    const std::int64_t want = 10, made = -3;
    EXPECT_EQ(w->compare_and_swap(&made, &want, &before, at(kFirst + 8)), Fault::none);
    EXPECT_EQ(w->flush(to), Fault::none);
    EXPECT_EQ(before, 10);
    std::int64_t two[2] = {};
    const Target across{to, static_cast<std::int64_t>(kFirst + 72), kLong.get(), 2};
    EXPECT_EQ(w->put(DataView::contiguous(two, 16), across), distance == 0 ? Fault::range : Fault::none);
    EXPECT_EQ(w->flush(to), distance == 0 ? Fault::none : Fault::range);
    EXPECT_EQ(w->unlock_all(), Fault::none);
    f.barrier(me);
    EXPECT_EQ(second[2], 7 + (me + 3 - distance) % 3);
    EXPECT_EQ(first[1], -3);
    f.close(me, std::move(w));
  }));
}

TEST(RmaDynamic, NamesStandForAddressesAndACompletionForItsOwnOperations) {
  use_names(1);
}

TEST(RmaDynamic, NamesStandForAddressesInOnesOwnMemoryToo) {
  use_names(0);
}

TEST(RmaDynamic, AnEmptyRegionIsInNobodysWay) {
  Fibers f(1, {});
  EXPECT_TRUE(f.run([&](int me) {
    auto w = open_dynamic(f, me);
    std::int64_t memory[2] = {};
    EXPECT_EQ(w->attach(memory, 0), Fault::none);
    EXPECT_EQ(w->attach(memory, sizeof memory), Fault::none);
    EXPECT_EQ(w->attach(memory + 1, 0), Fault::none);
    EXPECT_EQ(w->detach(memory), Fault::none);
    EXPECT_EQ(w->detach(memory), Fault::none);
    EXPECT_EQ(w->detach(memory), Fault::attach);
    EXPECT_EQ(w->detach(memory + 1), Fault::none);
    f.close(me, std::move(w));
  }));
}

TEST(RmaDynamic, ASpanThatNoAddressHoldsIsOutOfRange) {
  Fibers f(1, {});
  EXPECT_TRUE(f.run([&](int me) {
    auto w = open_dynamic(f, me);
    std::vector<std::int64_t> memory(100);
    EXPECT_EQ(w->attach(memory.data(), 800), Fault::none);
    EXPECT_EQ(w->lock_all(0), Fault::none);
    const auto at = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(memory.data()));
    // Elements whose steps come to a multiple of 2^64, so that the last would lie upon the first.
    const LayoutRef far = Layout::resized(*kLong, 0, std::int64_t{1} << 62);
    const LayoutRef back = Layout::resized(*kLong, 0, -(std::int64_t{1} << 62));
    for (const LayoutRef& layout : {far, back}) {
      EXPECT_EQ(w->get(DataView::contiguous(memory.data() + 10, 40), {0, at, layout.get(), 5}), Fault::range);
    }
    EXPECT_EQ(w->get(DataView::contiguous(memory.data() + 10, 8), {0, at, far.get(), 1}), Fault::none);
    EXPECT_EQ(w->unlock_all(), Fault::none);
    f.close(me, std::move(w));
  }));
}

TEST(RmaAgent, IsNeededOnlyWhereSomebodySendsPackets) {
  methods::InprocRules rules;
  rules.shared_memory = true;
  Fibers f(2, rules);
  EXPECT_TRUE(f.run([&](int me) {
    std::vector<std::byte> ordinary(64);
    void* of_the_heap = f.device(me).MPID_Mem_alloc(64);
    WindowOptions o;
    o.id = 5;
    o.flavor = Flavor::create;
    o.base = me == 0 ? of_the_heap : ordinary.data();
    o.size = 64;
    auto w = f.window(me, o);
    // Rank 1 reaches the memory of rank 0, but not the other way round.
    EXPECT_EQ(f.domain(me).served(), me);
    const std::int64_t x = 3 + me;
    EXPECT_EQ(w->fence(0), Fault::none);
    EXPECT_EQ(w->put(DataView::contiguous(&x, 8), {1 - me, 0, kLong.get(), 1}), Fault::none);
    EXPECT_EQ(w->fence(rma::assertion::nosucceed), Fault::none);
    EXPECT_EQ(*static_cast<std::int64_t*>(w->base()), 4 - me);
    f.close(me, std::move(w));
    f.device(me).MPID_Mem_free(of_the_heap);
  }));
}

TEST(RmaShared, MembersLieOneBehindTheOther) {
  methods::InprocRules rules;
  rules.shared_memory = true;
  Fibers f(3, rules);
  EXPECT_TRUE(f.run([&](int me) {
    WindowOptions o;
    o.id = 4;
    o.flavor = Flavor::shared;
    o.size = 16 * static_cast<std::uint64_t>(me);
    auto w = f.window(me, o);
    rma::SharedMemory a, b, first;
    EXPECT_EQ(w->shared_query(1, a), Fault::none);
    EXPECT_EQ(w->shared_query(2, b), Fault::none);
    EXPECT_EQ(w->shared_query(-1, first), Fault::none);
    EXPECT_EQ(first.base, a.base);
    EXPECT_EQ(static_cast<std::byte*>(a.base) + 16, b.base);
    EXPECT_EQ(b.size, 32u);
    f.close(me, std::move(w));
  }));
}

}  // namespace
