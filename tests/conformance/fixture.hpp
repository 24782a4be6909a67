// SPDX-License-Identifier: BSD-3-Clause
// The fixture of the conformance suite: a scenario is one TEST_P, stamped onto every variant of all_setups().
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "conformance/world.hpp"

namespace rmq::testing {

class Conformance : public ::testing::TestWithParam<Setup> {
 protected:
  void SetUp() override {
    if (!GetParam().available()) GTEST_SKIP() << "this build has no " << GetParam().method;
  }

  /// The world of this scenario; false when it did not start.
  bool open(int ranks, const std::function<void(Config&)>& adjust = {}) {
    world_ = std::make_unique<World>(ranks, GetParam(), adjust);
    return world_->ok();
  }
  World& world() { return *world_; }
  adi::Device& rank(int r) { return (*world_)[r]; }

  /// A message's bytes in memory of its own.
  static Buffer message(std::uint64_t id, std::size_t bytes, Shape shape = Shape::contiguous) {
    Buffer b(bytes, shape, id);
    b.fill(message_bytes(id, bytes));
    return b;
  }

  std::size_t eager_max() { return rank(0).methods().front()->eager_max(1); }
  std::size_t fragment_max() { return rank(0).methods().front()->fragment_max(1); }

  /// Sizes on both sides of every threshold of the protocols.
  std::vector<std::size_t> edge_sizes() {
    std::vector<std::size_t> sizes{0, 1, 2, 7, 8, 9};
    for (std::size_t t : {std::size_t{24}, std::size_t{32}, std::size_t{64}, eager_max(), fragment_max(),
                          2 * fragment_max(), std::size_t{1} << 20}) {
      if (t == 0 || t > (std::size_t{4} << 20)) continue;
      for (std::size_t s : {t - 1, t, t + 1}) sizes.push_back(s);
    }
    std::sort(sizes.begin(), sizes.end());
    sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
    return sizes;
  }

  /// A completed receive holds exactly this message; gives the request back.
  void expect_message(int at, Request* r, const Buffer& into, std::uint64_t id, std::size_t bytes, int source,
                      int tag) {
    EXPECT_EQ(r->status.error, Errc::ok);
    EXPECT_EQ(r->status.bytes, bytes);
    EXPECT_EQ(r->status.source, source);
    EXPECT_EQ(r->status.tag, tag);
    EXPECT_FALSE(r->status.cancelled);
    EXPECT_EQ(into.take(bytes), message_bytes(id, bytes)) << "message " << id << " of " << bytes << " bytes";
    EXPECT_TRUE(into.guards_hold(bytes)) << "message " << id << " of " << bytes << " bytes";
    world_->free(at, r);
  }
  /// A completed send had no error; gives the request back.
  void expect_sent(int from, Request* r) {
    EXPECT_EQ(r->status.error, Errc::ok);
    EXPECT_FALSE(r->status.cancelled);
    world_->free(from, r);
  }

  /// No rank has requests, queue entries or protocol errors left.
  void expect_clean() {
    for (int r = 0; r < world_->size(); ++r) {
      EXPECT_EQ(rank(r).pool().alive(), 0u) << "rank " << r;
      EXPECT_EQ(rank(r).posted() + rank(r).unexpected(), 0u) << "rank " << r;
      EXPECT_EQ(rank(r).counters().protocol_errors, 0u) << "rank " << r;
      EXPECT_EQ(rank(r).counters().unexpected_bytes, 0u) << "rank " << r;
    }
  }

 private:
  std::unique_ptr<World> world_;
};

}  // namespace rmq::testing
