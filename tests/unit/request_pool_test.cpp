// SPDX-License-Identifier: BSD-3-Clause
#include "base/packet/request_pool.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <set>
#include <vector>

namespace rmq {
namespace {

TEST(RequestPool, AHandleNamesItsRequestUntilItIsPutBack) {
  RequestPool pool;
  Request* r = pool.get();
  const Handle h = r->self;
  EXPECT_TRUE(h);
  EXPECT_EQ(pool.find(h), r);
  pool.put(r);
  EXPECT_EQ(pool.find(h), nullptr);
}

TEST(RequestPool, AStaleHandleDoesNotNameTheNextUserOfTheSlot) {
  RequestPool pool;
  Request* first = pool.get();
  const Handle stale = first->self;
  pool.put(first);
  Request* second = pool.get();
  ASSERT_EQ(first, second) << "the warmest slot is used first";
  EXPECT_EQ(second->self.index, stale.index);
  EXPECT_NE(second->self, stale);
  EXPECT_EQ(pool.find(stale), nullptr);
  EXPECT_EQ(pool.find(second->self), second);
}

TEST(RequestPool, ForgedHandlesNameNothing) {
  RequestPool pool;
  EXPECT_EQ(pool.find(Handle{0, 1}), nullptr) << "nothing has been made yet";
  Request* r = pool.get();
  const Handle h = r->self;
  EXPECT_EQ(pool.find(Handle{}), nullptr);
  EXPECT_EQ(pool.find(Handle{h.index, 0}), nullptr);
  EXPECT_EQ(pool.find(Handle{h.index, h.generation + 1}), nullptr);
  EXPECT_EQ(pool.find(Handle{h.index, h.generation + 2}), nullptr);
  EXPECT_EQ(pool.find(Handle{h.index + 1, 0}), nullptr) << "a free slot has an even generation";
  EXPECT_EQ(pool.find(Handle{pool.capacity(), 1}), nullptr);
  EXPECT_EQ(pool.find(Handle{~0u, ~0u}), nullptr);
}

TEST(RequestPool, HandlesSurviveTheWire) {
  RequestPool pool;
  for (int i = 0; i < 300; ++i) {
    Request* r = pool.get();
    EXPECT_EQ(pool.find(Handle::from_wire(r->self.wire())), r);
  }
}

TEST(RequestPool, GrowsWithoutMovingWhatIsAlive) {
  RequestPool pool;
  std::vector<Request*> all;
  std::set<std::uint32_t> indices;
  for (int i = 0; i < 10000; ++i) {
    Request* r = pool.get();
    r->user = r;
    all.push_back(r);
    EXPECT_TRUE(indices.insert(r->self.index).second);
  }
  EXPECT_EQ(pool.alive(), 10000u);
  EXPECT_GE(pool.capacity(), 10000u);
  const std::uint32_t capacity = pool.capacity();
  for (Request* r : all) {
    EXPECT_EQ(r->user, r);
    EXPECT_EQ(pool.find(r->self), r);
    EXPECT_EQ(pool.at(r->self.index), r);
  }
  for (Request* r : all) pool.put(r);
  EXPECT_EQ(pool.alive(), 0u);
  for (int i = 0; i < 10000; ++i) pool.get();
  EXPECT_EQ(pool.capacity(), capacity) << "freed slots are used again";
}

TEST(RequestPool, ARequestComesBackFresh) {
  RequestPool pool;
  Request* r = pool.get();
  r->kind = RequestKind::recv;
  r->mode = SendMode::synchronous;
  r->dest_op = DestOp::join;
  r->flags = request_flag::grouped | request_flag::detached;
  r->step = Step::asked;
  r->peer = 3;
  r->incomplete.store(1, std::memory_order_relaxed);
  r->appended = {9};
  r->status.cancelled = true;
  r->status.error = Errc::truncate;
  r->on_complete = [](Request*) {};
  r->user = &pool;
  r->parts = 4;
  r->owned = static_cast<std::byte*>(std::malloc(100));  // the sanitizer build sees it if the pool forgets it
  r->owned_bytes = 100;
  pool.put(r);
  Request* again = pool.get();
  ASSERT_EQ(again, r);
  EXPECT_TRUE(again->complete());
  EXPECT_EQ(again->kind, RequestKind::none);
  EXPECT_EQ(again->mode, SendMode::standard);
  EXPECT_EQ(again->dest_op, DestOp::copy);
  EXPECT_EQ(again->flags, 0);
  EXPECT_EQ(again->peer, kNoRank);
  EXPECT_EQ(again->step, Step::idle);
  EXPECT_EQ(again->appended.bytes, 0u);
  EXPECT_FALSE(again->status.cancelled);
  EXPECT_EQ(again->status.error, Errc::ok);
  EXPECT_EQ(again->on_complete, nullptr);
  EXPECT_EQ(again->user, nullptr);
  EXPECT_EQ(again->parts, 1u);
  EXPECT_EQ(again->owned, nullptr);
  EXPECT_EQ(again->next, nullptr);
}

TEST(RequestPool, FreesWhatLiveRequestsOwnWhenItGoes) {
  RequestPool pool;
  for (int i = 0; i < 3; ++i) pool.get()->owned = static_cast<std::byte*>(std::malloc(64));
}

TEST(RequestPool, ARequestStandsOnCacheLines) {
  RequestPool pool;
  for (int i = 0; i < 300; ++i) EXPECT_EQ(reinterpret_cast<std::uintptr_t>(pool.get()) % kCacheLine, 0u);
}

}  // namespace
}  // namespace rmq
