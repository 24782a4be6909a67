// SPDX-License-Identifier: BSD-3-Clause
// Which packets an epoch takes, exactly. Flags: 1 lock shared, 2 lock exclusive, 4 unlock, 8 acknowledgement wanted.
#include <gtest/gtest.h>

#include "rma/long_window.hpp"

namespace {

using rmq::Basic;
using rmq::DataView;
using rmq::Layout;
using rmq::LayoutRef;
using rmq::ReduceOp;
using rmq::rma::Fault;
using rmq::rma::LockType;
using rmq::rma::Window;
using rmq::testing::Fibers;
using rmq::testing::kLong;
using Packets = std::vector<std::string>;

/// What rank 0 and rank 1 send while rank 0 runs `epoch` on a window of both.
struct Exchange {
  Packets origin, target;
};

Exchange exchange(const std::function<void(Window&)>& epoch) {
  Exchange x;
  Fibers f(2, {});
  EXPECT_TRUE(f.run([&](int me) {
    std::vector<std::int64_t> memory(1000);
    rmq::rma::WindowOptions o;
    o.id = 5;
    o.base = memory.data();
    o.size = 8000;
    o.disp_unit = 8;
    auto w = f.window(me, o);
    f.barrier(me);
    if (me == 0) {
      f.sent(0).clear();
      f.sent(1).clear();
      epoch(*w);
      EXPECT_EQ(w->may_close(), Fault::none);
      x = {f.sent(0), f.sent(1)};
    }
    f.close(me, std::move(w));
  }));
  return x;
}

const LayoutRef kByte = Layout::basic(Basic::byte, 1);
std::int64_t words[8];
const DataView kWord = DataView::contiguous(words, 8);

void put(Window& w, int i) {
  EXPECT_EQ(w.put(kWord, {1, i, kLong.get(), 1}), Fault::none);
}
void get(Window& w, int i) {
  EXPECT_EQ(w.get(kWord, {1, i, kLong.get(), 1}), Fault::none);
}
void lock(Window& w, LockType type = LockType::exclusive, unsigned assertions = 0) {
  EXPECT_EQ(w.lock(type, 1, assertions), Fault::none);
}
void unlock(Window& w) {
  EXPECT_EQ(w.unlock(1), Fault::none);
}

TEST(RmaPackets, AnEmptyEpochTakesNone) {
  const auto x = exchange([](Window& w) { lock(w), unlock(w); });
  EXPECT_EQ(x.origin, Packets{});
  EXPECT_EQ(x.target, Packets{});
}

TEST(RmaPackets, LockPutUnlockIsTwo) {
  const auto x = exchange([](Window& w) { lock(w), put(w, 0), unlock(w); });
  EXPECT_EQ(x.origin, Packets{"RMA_PUT 14"});
  EXPECT_EQ(x.target, Packets{"RMA_ACK"});
}

TEST(RmaPackets, LockGetUnlockIsTwo) {
  const auto x = exchange([](Window& w) { lock(w, LockType::shared), get(w, 0), unlock(w); });
  EXPECT_EQ(x.origin, Packets{"RMA_GET 5"});
  EXPECT_EQ(x.target, Packets{"RMA_REPLY"});
}

TEST(RmaPackets, ThreePutsWaitForTheGrantAndTheLastReleases) {
  const auto x = exchange([](Window& w) { lock(w), put(w, 0), put(w, 1), put(w, 2), unlock(w); });
  EXPECT_EQ(x.origin, (Packets{"RMA_LOCK 2", "RMA_PUT", "RMA_PUT", "RMA_PUT 12"}));
  EXPECT_EQ(x.target, (Packets{"RMA_LOCK_GRANTED", "RMA_ACK"}));
}

TEST(RmaPackets, AGetGoesLastAndNeedsNoAcknowledgement) {
  const auto x = exchange([](Window& w) { lock(w, LockType::shared), put(w, 0), get(w, 1), put(w, 2), unlock(w); });
  EXPECT_EQ(x.origin, (Packets{"RMA_LOCK 1", "RMA_PUT", "RMA_PUT", "RMA_GET 4"}));
  EXPECT_EQ(x.target, (Packets{"RMA_LOCK_GRANTED", "RMA_REPLY"}));
}

TEST(RmaPackets, NocheckSendsNoLock) {
  const auto x = exchange(
      [](Window& w) { lock(w, LockType::shared, rmq::rma::assertion::nocheck), put(w, 0), put(w, 1), unlock(w); });
  EXPECT_EQ(x.origin, (Packets{"RMA_PUT", "RMA_PUT 8"}));
  EXPECT_EQ(x.target, Packets{"RMA_ACK"});
}

void put_gathered(Window& w, int i, std::uint64_t bytes = 8) {
  const std::vector<std::byte> data(bytes);  // gone when the call returns
  EXPECT_EQ(w.put_gathered(DataView::contiguous(data.data(), bytes), {1, i, kByte.get(), bytes}), Fault::none);
}

TEST(RmaPackets, GatheredPutsAreOne) {
  const auto x = exchange([](Window& w) {
    lock(w, LockType::shared, rmq::rma::assertion::nocheck);
    for (int i = 0; i < 10; ++i) put_gathered(w, i, i == 5 ? 1 : 8);
    unlock(w);
  });
  EXPECT_EQ(x.origin, Packets{"RMA_PUT_LIST 8"});
  EXPECT_EQ(x.target, Packets{"RMA_ACK"});
}

TEST(RmaPackets, GatheredPutsTravelInTheLock) {
  const auto x = exchange([](Window& w) { lock(w), put_gathered(w, 0), put_gathered(w, 1), unlock(w); });
  EXPECT_EQ(x.origin, Packets{"RMA_PUT_LIST 14"});
  EXPECT_EQ(x.target, Packets{"RMA_ACK"});
}

TEST(RmaPackets, WhatComesBetweenGatheredPutsKeepsItsPlace) {
  const auto x = exchange([](Window& w) {
    lock(w, LockType::shared, rmq::rma::assertion::nocheck);
    put_gathered(w, 0), put_gathered(w, 1), put(w, 0), put_gathered(w, 0), put_gathered(w, 1), unlock(w);
  });
  EXPECT_EQ(x.origin, (Packets{"RMA_PUT_LIST", "RMA_PUT", "RMA_PUT_LIST 8"}));
}

TEST(RmaPackets, GatheredPutsLeaveWithTheNextPoll) {
  const auto x = exchange([](Window& w) {
    lock(w, LockType::shared, rmq::rma::assertion::nocheck);
    for (int i = 0; i < 3; ++i) {
      put_gathered(w, 0), put_gathered(w, 1);
      for (std::uint32_t k = 0; k < rmq::rma::WindowCore::kCallsPerPoll; ++k) EXPECT_EQ(w.sync(), Fault::none);
    }
    unlock(w);
  });
  EXPECT_EQ(x.origin, (Packets{"RMA_PUT_LIST", "RMA_PUT_LIST", "RMA_PUT_LIST", "RMA_FLUSH"}));
}

TEST(RmaPackets, AListOfPutsLeavesWhenItIsFull) {
  constexpr int kFull = 8192 / 20;
  const auto x = exchange([](Window& w) {
    lock(w, LockType::shared, rmq::rma::assertion::nocheck);
    for (int i = 0; i < 2 * kFull + 1; ++i) put_gathered(w, i);
    EXPECT_EQ(w.flush(1), Fault::none);
    unlock(w);
  });
  EXPECT_EQ(x.origin, (Packets{"RMA_PUT_LIST", "RMA_PUT_LIST", "RMA_PUT_LIST 8"}));
}

TEST(RmaPackets, ALockThatIsHeldIsNotAskedForAgain) {
  const auto x = exchange([](Window& w) {
    lock(w, LockType::shared);
    for (int i = 0; i < 2; ++i) {
      put(w, i);
      EXPECT_EQ(w.flush(1), Fault::none);
    }
    unlock(w);
  });
  EXPECT_EQ(x.origin, (Packets{"RMA_PUT 9", "RMA_PUT 8", "RMA_UNLOCK"}));
  EXPECT_EQ(x.target, (Packets{"RMA_ACK", "RMA_ACK", "RMA_ACK"}));
}

TEST(RmaPackets, FetchAndOpTravelsInTheLock) {
  const auto x = exchange([](Window& w) {
    lock(w, LockType::shared);
    EXPECT_EQ(w.fetch_and_op(words, words + 1, {1, 0, kLong.get(), 1}, ReduceOp::sum), Fault::none);
    unlock(w);
  });
  EXPECT_EQ(x.origin, Packets{"RMA_FETCH_OP 5"});
  EXPECT_EQ(x.target, Packets{"RMA_REPLY"});
}

TEST(RmaPackets, ALockThatItsOwnerReleasesIsGivenAwayAtOnce) {
  Fibers f(2, {});
  EXPECT_TRUE(f.run([&](int me) {
    std::vector<std::int64_t> memory(1000);
    rmq::rma::WindowOptions o;
    o.id = 5;
    o.base = memory.data();
    o.size = 8000;
    o.disp_unit = 8;
    for (const bool all : {false, true}) {
      auto w = f.window(me, o);
      if (me == 0) {
        EXPECT_EQ(all ? w->lock_all(0) : w->lock(LockType::exclusive, 0, 0), Fault::none);
      }
      f.barrier(me);
      if (me == 1) {
        EXPECT_EQ(w->lock(LockType::exclusive, 0, 0), Fault::none);
        for (int i = 0; i < 2; ++i) EXPECT_EQ(w->put(kWord, {0, i, kLong.get(), 1}), Fault::none);
        EXPECT_EQ(w->unlock(0), Fault::none);
      } else {
        while (f.domain(0).counters().locks_queued < (all ? 2u : 1u)) f.device(0).MPID_Poll(false);
        f.sent(0).clear();
        // From here on rank 0 may compute for long: it must not take another poll.
        EXPECT_EQ(all ? w->unlock_all() : w->unlock(0), Fault::none);
        EXPECT_EQ(f.sent(0), Packets{"RMA_LOCK_GRANTED"});
      }
      f.close(me, std::move(w));
    }
  }));
}

TEST(RmaPackets, AFenceOfTwoIsOneSignalEachWay) {
  Fibers f(2, {});
  EXPECT_TRUE(f.run([&](int me) {
    std::vector<std::int64_t> memory(10);
    rmq::rma::WindowOptions o;
    o.id = 5;
    o.base = memory.data();
    o.size = 80;
    auto w = f.window(me, o);
    EXPECT_EQ(w->fence(0), Fault::none);
    f.barrier(me);
    f.sent(me).clear();
    const std::int64_t x = 5 + me;
    EXPECT_EQ(w->put(DataView::contiguous(&x, 8), {1 - me, 0, kLong.get(), 1}), Fault::none);
    EXPECT_EQ(w->fence(rmq::rma::assertion::nosucceed), Fault::none);
    EXPECT_EQ(f.sent(me), (Packets{"RMA_PUT", "RMA_SYNC"}));
    EXPECT_EQ(memory[0], 6 - me);
    f.close(me, std::move(w));
  }));
}

TEST(RmaPackets, ACachedDatatypeCostsOnlyTheHeader) {
  const LayoutRef apart = Layout::hvector(100, 1, 16, *kLong);
  const auto x = exchange([&](Window& w) {
    std::int64_t data[100] = {};
    lock(w, LockType::shared);
    for (int i = 0; i < 3; ++i) {
      EXPECT_EQ(w.put(DataView::contiguous(data, 800), {1, 0, apart.get(), 1}), Fault::none);
      EXPECT_EQ(w.flush(1), Fault::none);
    }
    unlock(w);
  });
  EXPECT_EQ(x.origin, (Packets{"DATATYPE_DEFN", "RMA_PUT 9", "RMA_PUT 8", "RMA_PUT 8", "RMA_UNLOCK"}));
}

}  // namespace
