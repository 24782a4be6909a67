// SPDX-License-Identifier: BSD-3-Clause
// What is under way to a target: how a call that drains it ends, and how much it may be.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "rma/long_window.hpp"

namespace {

using namespace rmq;
using rma::Fault;
using rma::LockType;
using rma::Window;
using namespace rmq::testing;
using Packets = std::vector<std::string>;

/// What another thread of the program does while a call polls: in each turn of the dispatch loop, some puts.
class OtherThread final : public adi::Extension {
 public:
  OtherThread(adi::Device& device, Window& window, int most, int at_once = 1)
      : device_(device), window_(window), most_(most), at_once_(at_once) {
    device_.register_extension(Kind::RMA_QUEUE_PUT, Kind::RMA_QUEUE_CREDIT, *this);
    device_.want_turns(true);
  }
  ~OtherThread() override {
    device_.want_turns(false);
    device_.unregister_extension(*this);
  }
  int puts() const { return puts_; }

  void on_packet(Rank, const Packet&, const std::byte*) override {}
  methods::Landing on_arriving(Rank, const Packet&) override { return {}; }
  void on_landed(Rank, const Packet&, const methods::Landing&, Errc) override {}
  void on_peer_lost(Rank) override {}
  int advance() override {
    for (int i = 0; i < at_once_ && puts_ < most_; ++i, ++puts_) {
      EXPECT_EQ(window_.put(DataView::contiguous(&word_, 8), {1, 1, kLong.get(), 1}), Fault::none);
    }
    return 0;
  }
  bool may_sleep() override { return true; }

 private:
  adi::Device& device_;
  Window& window_;
  int most_, at_once_, puts_ = 0;
  std::int64_t word_ = 5;
};

TEST(RmaFlight, AFlushWaitsForWhatWasIssuedBeforeIt) {
  constexpr int kMost = 100'000;
  for (const bool remote : {true, false}) {
    Fibers f(2, {});
    EXPECT_TRUE(f.run([&](int me) {
      std::vector<std::int64_t> memory;
      auto w = open_longs(f, me, memory, 8);
      if (me == 0) {
        EXPECT_EQ(w->lock_all(0), Fault::none);
        const std::int64_t x = 3;
        std::int64_t y = 0;
        EXPECT_EQ(w->put(DataView::contiguous(&x, 8), {1, 0, kLong.get(), 1}), Fault::none);
        EXPECT_EQ(w->get(DataView::contiguous(&y, 8), {1, 0, kLong.get(), 1}), Fault::none);
        {
          OtherThread other(f.device(0), *w, kMost);
          EXPECT_EQ(remote ? w->flush(1) : w->flush_local(1), Fault::none);
          EXPECT_LT(other.puts(), kMost);
        }
        EXPECT_EQ(w->unlock_all(), Fault::none);
      }
      f.barrier(me);
      if (me == 1) {
        EXPECT_EQ(memory[0], 3);
      }
      f.close(me, std::move(w));
    }));
  }
}

// A get may be sent behind puts that were issued later, but not behind those that a flush under way does not wait for:
// neither when the lock comes, nor when the flush itself sends.
TEST(RmaFlight, AFlushWaitsForAGetThoughOthersIssueWhileItWaitsForTheLock) {
  for (const int puts : {3, 400}) {  // few enough to lag, or not
    Fibers f(2, {});
    EXPECT_TRUE(f.run([&](int me) {
      std::vector<std::int64_t> memory;
      auto w = open_longs(f, me, memory, 8);
      memory[0] = 4;
      f.barrier(me);
      if (me == 0) {
        EXPECT_EQ(w->lock_all(0), Fault::none);
        std::int64_t y = 0;
        const std::int64_t x = 3;
        EXPECT_EQ(w->get(DataView::contiguous(&y, 8), {1, 0, kLong.get(), 1}), Fault::none);
        EXPECT_EQ(w->put(DataView::contiguous(&x, 8), {1, 2, kLong.get(), 1}), Fault::none);
        {
          OtherThread other(f.device(0), *w, puts, puts);
          EXPECT_EQ(w->flush(1), Fault::none);
          EXPECT_EQ(y, 4);
          EXPECT_EQ(other.puts(), puts);
        }
        EXPECT_EQ(w->unlock_all(), Fault::none);
      }
      f.barrier(me);
      f.close(me, std::move(w));
    }));
  }
}

// An answer is read from the target's memory while it leaves: whoever gets the lock next must not change it meanwhile.
TEST(RmaFlight, ALockIsKeptUntilTheAnswersOfItsHolderHaveLeft) {
  constexpr std::size_t kLongs = 16 * 1024;  // 128 KB: two fragments, or more
  constexpr int kRounds = 6;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    methods::InprocRules rules;
    rules.seed = seed;
    rules.latency_ns = 2000;
    rules.queued = 700;
    rules.told_late = seed % 2 == 0 ? 0 : 500;  // the next request for the lock may come before
    Fibers f(3, rules);
    EXPECT_TRUE(f.run([&](int me) {
      std::vector<std::int64_t> memory, data(kLongs);
      auto w = open_longs(f, me, memory, kLongs);
      f.barrier(me);
      for (int i = 1; i <= kRounds && me != 0; ++i) {
        const rma::Target all{0, 0, kLong.get(), kLongs};
        const bool reads = me == 1, locks_all = reads && (seed / 2) % 2 == 1;
        if (!reads) std::fill(data.begin(), data.end(), i);
        EXPECT_EQ(locks_all ? w->lock_all(0) : w->lock(LockType::exclusive, 0, 0), Fault::none);
        EXPECT_EQ(reads ? w->get(view(data), all) : w->put(view(data), all), Fault::none);
        EXPECT_EQ(locks_all ? w->unlock_all() : w->unlock(0), Fault::none);
        const bool whole = std::ranges::all_of(data, [&](std::int64_t x) { return x == data[0]; });
        EXPECT_TRUE(whole) << "seed " << seed << ", round " << i;
      }
      f.barrier(me);
      f.close(me, std::move(w));
    }));
  }
}

// ---- bounds ----

TEST(RmaFlight, WhoDoesNotTakeItsAnswersIsServedWhenItDoes) {
  methods::InprocRules rules;
  rules.link_frames = 64;
  rules.fragment_max = 512;
  Fibers f(2, rules);
  constexpr std::size_t kLongs = 1 << 19;  // 4 MB, two flights of answers
  EXPECT_TRUE(f.run([&](int me) {
    std::vector<std::int64_t> memory;
    auto w = open_longs(f, me, memory, kLongs);
    std::iota(memory.begin(), memory.end(), me);
    f.barrier(me);
    if (me == 0) {
      std::vector<std::int64_t> got(kLongs);
      EXPECT_EQ(w->lock(LockType::exclusive, 1, 0), Fault::none);
      EXPECT_EQ(w->get_accumulate({}, view(got), {1, 0, kLong.get(), kLongs}, ReduceOp::no_op), Fault::none);
      EXPECT_EQ(w->unlock(1), Fault::none);
      for (std::size_t i = 0; i < kLongs; ++i) ASSERT_EQ(got[i], static_cast<std::int64_t>(i) + 1);
    }
    f.barrier(me);
    if (me == 1) {
      EXPECT_GT(f.domain(1).counters().held_most, 0u);  // some had to wait
      EXPECT_EQ(f.domain(1).counters().protocol_errors, 0u);
    }
    f.close(me, std::move(w));
  }));
}

TEST(RmaFlight, WhoIssuesWithoutEndPolls) {
  Fibers f(2, {});
  EXPECT_TRUE(f.run([&](int me) {
    std::vector<std::int64_t> memory;
    auto w = open_longs(f, me, memory, 8);
    EXPECT_EQ(w->lock_all(0), Fault::none);
    const std::int64_t one = 1;
    constexpr int kMany = 50'000;
    for (int i = 0; i < kMany; ++i) {
      EXPECT_EQ(w->accumulate(DataView::contiguous(&one, 8), {1 - me, 0, kLong.get(), 1}, ReduceOp::sum), Fault::none);
    }
    EXPECT_GT(f.domain(me).counters().served, 0u);
    EXPECT_EQ(w->unlock_all(), Fault::none);
    f.barrier(me);
    EXPECT_EQ(memory[0], kMany);
    f.close(me, std::move(w));
  }));
}

TEST(RmaFlight, AnswersBeyondTheNumberOfTicketsAreWaitedFor) {
  for (const std::size_t tickets : {1, 2, 8}) {
    Fibers f(3, {});
    EXPECT_TRUE(f.run([&](int me) {
      f.domain(me).limit_answers(tickets);
      std::vector<std::int64_t> memory;
      auto w = open_longs(f, me, memory, 8);
      EXPECT_EQ(w->lock_all(0), Fault::none);
      std::vector<std::int64_t> seen(600, -1);
      const std::int64_t one = 1;
      for (std::size_t i = 0; i < seen.size(); ++i) {
        const int to = static_cast<int>(i % 3);
        EXPECT_EQ(w->fetch_and_op(&one, &seen[i], {to, 0, kLong.get(), 1}, ReduceOp::sum), Fault::none);
        EXPECT_EQ(w->put(DataView::contiguous(&one, 8), {to, 1, kLong.get(), 1}), Fault::none);
        if (i % 100 == 7) {
          EXPECT_EQ(w->flush(to), Fault::none);
        }
      }
      EXPECT_EQ(w->flush_all(), Fault::none);
      EXPECT_EQ(std::count(seen.begin(), seen.end(), -1), 0);
      Request* r = nullptr;
      std::int64_t x = -1;
      EXPECT_EQ(w->rget(DataView::contiguous(&x, 8), {(me + 1) % 3, 1, kLong.get(), 1}, r), Fault::none);
      while (!r->complete()) f.device(me).MPID_Poll(false);
      f.device(me).MPID_Request_free(r);
      EXPECT_EQ(x, 1);
      EXPECT_EQ(w->unlock_all(), Fault::none);
      f.barrier(me);
      EXPECT_EQ(memory[0], 600);
      f.close(me, std::move(w));
    }));
  }
}

// The question that makes room in the flight finds no ticket: it is asked when there is one.
TEST(RmaFlight, AFullFlightGoesOnThoughItsQuestionHadNoTicket) {
  Fibers f(3, {});
  EXPECT_TRUE(f.run([&](int me) {
    f.domain(me).limit_answers(1);
    std::vector<std::int64_t> memory;
    auto w = open_longs(f, me, memory, 1 << 20);  // 8 MB, four flights
    EXPECT_EQ(w->lock_all(rma::assertion::nocheck), Fault::none);
    f.barrier(me);
    if (me == 0) {
      std::int64_t x = -1;
      Request* r = nullptr;
      EXPECT_EQ(w->rget(DataView::contiguous(&x, 8), {2, 0, kLong.get(), 1}, r), Fault::none);  // has the ticket
      const std::vector<std::int64_t> data(1 << 20, 7);
      EXPECT_EQ(w->put(view(data), {1, 0, kLong.get(), 1 << 20}), Fault::none);
      EXPECT_EQ(w->flush(1), Fault::none);
      while (!r->complete()) f.device(me).MPID_Poll(false);
      f.device(me).MPID_Request_free(r);
      EXPECT_EQ(x, 0);
    }
    EXPECT_EQ(w->unlock_all(), Fault::none);
    f.barrier(me);
    if (me == 1) {
      EXPECT_EQ(std::count(memory.begin(), memory.end(), 7), 1 << 20);
    }
    f.close(me, std::move(w));
  }));
}

TEST(RmaFlight, AFetchWithoutAnOperationComesInPieces) {
  Fibers f(2, {});
  EXPECT_TRUE(f.run([&](int me) {
    std::vector<std::int64_t> memory;
    auto w = open_longs(f, me, memory, 100'000);
    std::iota(memory.begin(), memory.end(), me);
    f.barrier(me);
    if (me == 0) {
      EXPECT_EQ(w->lock(LockType::shared, 1, 0), Fault::none);
      std::vector<std::int64_t> got(memory.size());
      f.sent(0).clear();
      const rma::Target all{1, 0, kLong.get(), got.size()};
      EXPECT_EQ(w->get_accumulate({}, view(got), all, ReduceOp::no_op), Fault::none);
      EXPECT_EQ(w->unlock(1), Fault::none);
      for (std::size_t i = 0; i < got.size(); ++i) ASSERT_EQ(got[i], static_cast<std::int64_t>(i) + 1);
      EXPECT_EQ(f.sent(0), (Packets{"RMA_LOCK 1", "RMA_GET_ACCUMULATE", "RMA_GET_ACCUMULATE", "RMA_GET_ACCUMULATE",
                                    "RMA_GET_ACCUMULATE", "RMA_UNLOCK"}));
    }
    f.close(me, std::move(w));
  }));
}

// ---- faults that only the target finds ----

TEST(RmaFlight, AnEpochReportsWhatItsTargetsHaveFound) {
  for (const bool fence : {true, false}) {
    Fibers f(2, {});
    EXPECT_TRUE(f.run([&](int me) {
      auto w = open_dynamic(f, me);
      std::vector<std::int64_t> memory(100, 0);
      EXPECT_EQ(w->attach(memory.data(), 400), Fault::none);
      const auto at = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(memory.data()));
      const auto all = f.gather(me, {&at, 1});
      const int other = 1 - me;
      const auto there = static_cast<std::int64_t>(all[static_cast<std::size_t>(other)]);
      const std::int64_t x = 4;
      for (int round = 0; round < 6; ++round) {
        EXPECT_EQ(fence ? w->fence(0) : w->post({&other, 1}, 0), Fault::none);
        if (!fence) {
          EXPECT_EQ(w->start({&other, 1}, 0), Fault::none);
        }
        const bool wrong = me == 0 && round % 2 == 1;  // 50 is not attached; not always the last
        EXPECT_EQ(w->put(DataView::contiguous(&x, 8), {other, there + (wrong ? 400 : 0), kLong.get(), 1}), Fault::none);
        if (round % 3 == 0) {
          EXPECT_EQ(w->put(DataView::contiguous(&x, 8), {other, there + 8, kLong.get(), 1}), Fault::none);
        }
        EXPECT_EQ(fence ? w->fence(0) : w->complete(), wrong ? Fault::range : Fault::none) << round;
        if (!fence) {
          EXPECT_EQ(w->wait(), Fault::none);
        }
        EXPECT_EQ(memory[0], round > 0 || me == 0 || !wrong ? 4 : 0);
      }
      if (fence) {
        EXPECT_EQ(w->fence(rma::assertion::nosucceed), Fault::none);
      }
      f.close(me, std::move(w));
    }));
  }
}

}  // namespace
