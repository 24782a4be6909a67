// SPDX-License-Identifier: BSD-3-Clause
// Memory that is attached to a dynamic window in several pieces; and a request whose target finds that it is wrong.
#include <gtest/gtest.h>

#include <initializer_list>
#include <vector>

#include "rma/long_window.hpp"

namespace several_pieces {
namespace {

using namespace rmq;
using rma::Fault;
using rma::LockType;
using namespace rmq::testing;

constexpr std::size_t kEach = 3000, kApart = 100'000;  // longs: several fragments, far from each other
std::vector<std::int64_t> memory(2 * kApart + kEach);

std::int64_t address(std::size_t at) {
  return static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(&memory[at]));
}
/// kEach longs at each of these places of `memory`, whose address is the origin.
LayoutRef pieces(std::initializer_list<std::size_t> places) {
  std::vector<std::int64_t> at;
  for (const std::size_t place : places) at.push_back(static_cast<std::int64_t>(8 * place));
  return Layout::hindexed(std::vector<std::uint64_t>(at.size(), kEach), at, *kLong);
}

TEST(RmaAttached, ADatatypeMayReachOverSeveralPieces) {
  const LayoutRef both = pieces({0, 2 * kApart}), all = pieces({0, kApart, 2 * kApart});
  memory.assign(memory.size(), 0);
  for (const int origin : {0, 1}) {  // of whom the memory is, or not
    Fibers f(2, {});
    EXPECT_TRUE(f.run([&](int me) {
      auto w = open_dynamic(f, me);
      if (me == 1) {
        for (const std::size_t at : {std::size_t{0}, 2 * kApart})
          EXPECT_EQ(w->attach(&memory[at], 8 * kEach), Fault::none);
      }
      f.barrier(me);
      if (me == origin) {
        std::vector<std::int64_t> out(3 * kEach, 7 + origin), in(2 * kEach, -1);
        const DataView two = DataView::contiguous(out.data(), 16 * kEach), back = view(in);
        EXPECT_EQ(w->lock(LockType::exclusive, 1, 0), Fault::none);
        EXPECT_EQ(w->put(two, {1, address(0), both.get(), 1}), Fault::none);
        EXPECT_EQ(w->accumulate(two, {1, address(0), both.get(), 1}, ReduceOp::sum), Fault::none);
        EXPECT_EQ(w->get(back, {1, address(0), both.get(), 1}), Fault::none);
        EXPECT_EQ(w->flush(1), Fault::none);
        EXPECT_EQ(in, std::vector<std::int64_t>(2 * kEach, 2 * (7 + origin)));
        const Fault put = w->put(view(out), {1, address(0), all.get(), 1});
        const Fault flushed = w->flush(1);
        EXPECT_EQ(put != Fault::none ? put : flushed, Fault::range);
        const Fault get = w->get(view(out), {1, address(0), all.get(), 1});
        const Fault unlocked = w->unlock(1);
        EXPECT_EQ(get != Fault::none ? get : unlocked, Fault::range);
      }
      f.barrier(me);
      EXPECT_EQ(memory[kApart], 0);
      f.close(me, std::move(w));
    }));
  }
}

TEST(RmaAttached, WhatARequestHasToldOfNoLaterCallTells) {
  Fibers f(2, {});
  EXPECT_TRUE(f.run([&](int me) {
    auto w = open_dynamic(f, me);
    if (me == 0) {
      std::int64_t x = 5;
      Request* request = nullptr;
      EXPECT_EQ(w->lock(LockType::shared, 1, 0), Fault::none);
      EXPECT_EQ(w->rget(DataView::contiguous(&x, 8), {1, address(0), kLong.get(), 1}, request), Fault::none);
      while (!request->complete()) f.device(me).MPID_Poll(false);
      EXPECT_EQ(rma::Window::request_fault(*request), Fault::range);
      f.device(me).MPID_Request_free(request);
      EXPECT_EQ(w->flush(1), Fault::none);
      EXPECT_EQ(w->unlock(1), Fault::none);
      EXPECT_EQ(x, 5);
    }
    f.barrier(me);
    f.close(me, std::move(w));
  }));
}

}  // namespace
}  // namespace several_pieces
