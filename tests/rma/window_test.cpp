// SPDX-License-Identifier: BSD-3-Clause
// Behaviour of windows, on in-process devices: by packets, and by memory that the ranks share.
#include <gtest/gtest.h>

#include <cstring>
#include <numeric>

#include "rma/long_window.hpp"

namespace {

using namespace rmq;
using rma::Fault;
using rma::Flavor;
using rma::LockType;
using rma::Target;
using rma::Window;
using rma::WindowOptions;
using rmq::testing::Fibers;
using rmq::testing::kLong;

const LayoutRef kInt = Layout::basic(Basic::i32, 4);
const LayoutRef kDouble = Layout::basic(Basic::f64, 8);

struct Way {
  const char* name;
  bool shared;
  Flavor flavor;
};
void PrintTo(const Way& way, std::ostream* out) {
  *out << way.name;
}

class Rma : public ::testing::TestWithParam<Way> {
 protected:
  methods::InprocRules rules(std::uint64_t seed = 1) const {
    methods::InprocRules r;
    r.seed = seed;
    r.shared_memory = GetParam().shared;
    return r;
  }
  /// A window of `bytes` zero bytes on each rank.
  std::unique_ptr<Window> open(Fibers& f, int rank, std::vector<std::byte>& memory, std::size_t bytes) {
    memory.assign(bytes, std::byte{0});
    WindowOptions o;
    o.id = 7;
    o.flavor = GetParam().flavor;
    o.base = memory.data();
    o.size = bytes;
    auto w = f.window(rank, o);
    if (o.flavor == Flavor::allocate) std::memset(w->base(), 0, bytes);
    f.barrier(rank);
    return w;
  }
  template <class T>
  static T& word(Window& w, std::size_t i) {
    return static_cast<T*>(w.base())[i];
  }
  static DataView view(const void* data, std::size_t bytes) { return DataView::contiguous(data, bytes); }
};

TEST_P(Rma, PutFlushAndGetUnderALock) {
  Fibers f(3, rules());
  EXPECT_TRUE(f.run([&](int me) {
    std::vector<std::byte> memory;
    auto w = open(f, me, memory, 64);
    const std::int64_t mine = 100 + me;
    for (int t = 0; t < 3; ++t) {
      EXPECT_EQ(w->put(view(&mine, 8), {t, me * 8, kLong.get(), 1}), Fault::sync);
      EXPECT_EQ(w->lock(LockType::shared, t, 0), Fault::none);
      EXPECT_EQ(w->lock(LockType::shared, t, 0), Fault::sync);
      EXPECT_EQ(w->put(view(&mine, 8), {t, me * 8, kLong.get(), 1}), Fault::none);
      EXPECT_EQ(w->flush(t), Fault::none);
      std::int64_t back = 0;
      EXPECT_EQ(w->get(view(&back, 8), {t, me * 8, kLong.get(), 1}), Fault::none);
      EXPECT_EQ(w->unlock(t), Fault::none);
      EXPECT_EQ(back, mine);
      EXPECT_EQ(w->unlock(t), Fault::sync);
    }
    f.barrier(me);
    for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(word<std::int64_t>(*w, i), 100 + static_cast<int>(i));
    f.close(me, std::move(w));
  }));
}

TEST_P(Rma, AnAccessOutsideOfTheWindowIsRefused) {
  Fibers f(2, rules());
  EXPECT_TRUE(f.run([&](int me) {
    std::vector<std::byte> memory;
    auto w = open(f, me, memory, 64);
    EXPECT_EQ(w->lock_all(0), Fault::none);
    const std::int64_t x = 1;
    const int other = 1 - me;
    EXPECT_EQ(w->put(view(&x, 8), {other, 57, kLong.get(), 1}), Fault::range);
    EXPECT_EQ(w->put(view(&x, 8), {other, 64, kLong.get(), 1}), Fault::range);
    EXPECT_EQ(w->put(view(&x, 8), {other, -8, kLong.get(), 1}), Fault::disp);
    EXPECT_EQ(w->put(view(&x, 8), {other, INT64_MAX, kLong.get(), 1}), Fault::range);
    EXPECT_EQ(w->put(view(&x, 8), {other, 56, kLong.get(), 1}), Fault::none);
    EXPECT_EQ(w->unlock_all(), Fault::none);
    f.close(me, std::move(w));
  }));
}

TEST_P(Rma, FenceCompletesEverything) {
  for (int n : {1, 2, 3, 5}) {
    Fibers f(n, rules());
    EXPECT_TRUE(f.run([&](int me) {
      std::vector<std::byte> memory;
      auto w = open(f, me, memory, 8 * static_cast<std::size_t>(n));
      EXPECT_EQ(w->fence(rma::assertion::noprecede), Fault::none);
      for (int round = 1; round <= 5; ++round) {
        const std::int64_t x = round * 1000 + me;
        for (int t = 0; t < n; ++t) EXPECT_EQ(w->put(view(&x, 8), {t, me * 8, kLong.get(), 1}), Fault::none);
        EXPECT_EQ(w->fence(0), Fault::none);
        for (int i = 0; i < n; ++i) EXPECT_EQ(word<std::int64_t>(*w, static_cast<std::size_t>(i)), round * 1000 + i);
        EXPECT_EQ(w->fence(0), Fault::none);
      }
      EXPECT_EQ(w->fence(rma::assertion::nosucceed), Fault::none);
      f.close(me, std::move(w));
    }));
  }
}

TEST_P(Rma, PostStartCompleteWait) {
  Fibers f(4, rules());
  EXPECT_TRUE(f.run([&](int me) {
    std::vector<std::byte> memory;
    auto w = open(f, me, memory, 64);
    const std::vector<int> next{(me + 1) % 4}, before{(me + 3) % 4};
    for (int round = 0; round < 6; ++round) {
      EXPECT_EQ(w->post(before, 0), Fault::none);
      EXPECT_EQ(w->start(next, 0), Fault::none);
      const std::int64_t x = round * 10 + me;
      EXPECT_EQ(w->put(view(&x, 8), {next[0], 8, kLong.get(), 1}), Fault::none);
      EXPECT_EQ(w->put(view(&x, 8), {before[0], 8, kLong.get(), 1}), Fault::sync);
      EXPECT_EQ(w->complete(), Fault::none);
      if (round % 2) {
        EXPECT_EQ(w->wait(), Fault::none);
      } else {
        for (bool done = false; !done;) EXPECT_EQ(w->test(done), Fault::none);
      }
      EXPECT_EQ(word<std::int64_t>(*w, 1), round * 10 + before[0]);
    }
    f.close(me, std::move(w));
  }));
}

TEST_P(Rma, FetchAndOpGivesEachNumberOnce) {
  Fibers f(4, rules());
  std::vector<int> seen(400);
  EXPECT_TRUE(f.run([&](int me) {
    std::vector<std::byte> memory;
    auto w = open(f, me, memory, 64);
    EXPECT_EQ(w->lock_all(0), Fault::none);
    for (int i = 0; i < 100; ++i) {
      const std::int64_t one = 1;
      std::int64_t number = -1;
      EXPECT_EQ(w->fetch_and_op(&one, &number, {2, 16, kLong.get(), 1}, ReduceOp::sum), Fault::none);
      EXPECT_EQ(w->flush(2), Fault::none);
      ASSERT_TRUE(number >= 0 && number < 400);
      ++seen[static_cast<std::size_t>(number)];
    }
    EXPECT_EQ(w->unlock_all(), Fault::none);
    f.close(me, std::move(w));
  }));
  for (int n : seen) EXPECT_EQ(n, 1);
}

TEST_P(Rma, CompareAndSwapHasOneWinner) {
  Fibers f(4, rules());
  int winners = 0;
  EXPECT_TRUE(f.run([&](int me) {
    std::vector<std::byte> memory;
    auto w = open(f, me, memory, 64);
    EXPECT_EQ(w->lock(LockType::shared, 1, 0), Fault::none);
    const std::int32_t mine = me + 1, zero = 0;
    std::int32_t found = -1;
    EXPECT_EQ(w->compare_and_swap(&mine, &zero, &found, {1, 4, kInt.get(), 1}), Fault::none);
    EXPECT_EQ(w->unlock(1), Fault::none);
    winners += found == 0;
    f.close(me, std::move(w));
  }));
  EXPECT_EQ(winners, 1);
}

TEST_P(Rma, AccumulatesOfManyElementsAdd) {
  Fibers f(3, rules());
  constexpr std::size_t kN = 20000;
  EXPECT_TRUE(f.run([&](int me) {
    std::vector<std::byte> memory;
    auto w = open(f, me, memory, kN * 8);
    std::vector<double> mine(kN), before(kN);
    for (std::size_t i = 0; i < kN; ++i) mine[i] = static_cast<double>(i) * (me + 1);
    EXPECT_EQ(w->lock(LockType::shared, 0, 0), Fault::none);
    EXPECT_EQ(w->accumulate(view(mine.data(), kN * 8), {0, 0, kDouble.get(), kN}, ReduceOp::sum), Fault::none);
    EXPECT_EQ(w->get_accumulate(view(mine.data(), kN * 8), view(before.data(), kN * 8), {0, 0, kDouble.get(), kN},
                                ReduceOp::sum),
              Fault::none);
    EXPECT_EQ(w->unlock(0), Fault::none);
    for (std::size_t i = 0; i < kN; ++i) ASSERT_GE(before[i], mine[i]);
    f.barrier(me);
    if (me == 0) {
      for (std::size_t i = 0; i < kN; ++i) ASSERT_EQ(word<double>(*w, i), static_cast<double>(i) * 12);
    }
    f.close(me, std::move(w));
  }));
}

TEST_P(Rma, AStridedTargetIsDefinedOnce) {
  Fibers f(2, rules());
  const LayoutRef strided = Layout::hvector(100, 1, 32, *kLong);
  EXPECT_TRUE(f.run([&](int me) {
    std::vector<std::byte> memory;
    auto w = open(f, me, memory, 100 * 32);
    EXPECT_EQ(w->lock_all(0), Fault::none);
    std::vector<std::int64_t> data(100), back(100);
    for (int round = 0; round < 5; ++round) {
      std::iota(data.begin(), data.end(), round * 100 + me);
      EXPECT_EQ(w->put(view(data.data(), 800), {1 - me, 8 * me, strided.get(), 1}), Fault::none);
      EXPECT_EQ(w->flush(1 - me), Fault::none);
      EXPECT_EQ(w->get(view(back.data(), 800), {1 - me, 8 * me, strided.get(), 1}), Fault::none);
      EXPECT_EQ(w->flush(1 - me), Fault::none);
      EXPECT_EQ(back, data);
      if (round == 2) f.domain(me).drop_types();
    }
    EXPECT_EQ(w->unlock_all(), Fault::none);
    f.close(me, std::move(w));
    f.domain(me).forget(strided.get());
  }));
  for (int r = 0; r < 2; ++r) {
    EXPECT_LE(f.domain(r).counters().type_definitions, 2u);
    if (GetParam().shared) continue;
    EXPECT_GE(f.domain(r).counters().type_definitions, 1u);
    EXPECT_GT(f.domain(r).counters().type_bytes_saved, 0u);
    EXPECT_EQ(f.domain(r).counters().protocol_errors, 0u);
  }
}

TEST_P(Rma, RequestsCompleteOnTheirOwn) {
  Fibers f(2, rules());
  EXPECT_TRUE(f.run([&](int me) {
    std::vector<std::byte> memory;
    auto w = open(f, me, memory, 100000);
    EXPECT_EQ(w->lock_all(0), Fault::none);
    std::vector<std::byte> data(50000, std::byte(me + 1)), back(50000);
    Request *put = nullptr, *get = nullptr;
    const LayoutRef byte = Layout::basic(Basic::byte, 1);
    EXPECT_EQ(w->rput(view(data.data(), data.size()), {1 - me, 0, byte.get(), data.size()}, put), Fault::none);
    f.device(me).MPID_Wait(put);
    EXPECT_EQ(w->flush(1 - me), Fault::none);
    EXPECT_EQ(w->rget(view(back.data(), back.size()), {1 - me, 0, byte.get(), back.size()}, get), Fault::none);
    f.device(me).MPID_Wait(get);
    EXPECT_EQ(back, data);
    for (Request* r : {put, get}) {
      EXPECT_EQ(r->status.error, Errc::ok);
      f.device(me).MPID_Request_free(r);
    }
    EXPECT_EQ(w->unlock_all(), Fault::none);
    f.close(me, std::move(w));
    EXPECT_EQ(f.device(me).pool().alive(), 0u);
  }));
}

TEST_P(Rma, ExclusiveLocksExclude) {
  Fibers f(4, rules());
  EXPECT_TRUE(f.run([&](int me) {
    std::vector<std::byte> memory;
    auto w = open(f, me, memory, 64);
    for (int i = 0; i < 25; ++i) {
      // Read, then write: only exclusion makes the sum right.
      EXPECT_EQ(w->lock(LockType::exclusive, 0, 0), Fault::none);
      std::int64_t x = 0;
      EXPECT_EQ(w->get(view(&x, 8), {0, 0, kLong.get(), 1}), Fault::none);
      EXPECT_EQ(w->flush(0), Fault::none);
      ++x;
      EXPECT_EQ(w->put(view(&x, 8), {0, 0, kLong.get(), 1}), Fault::none);
      EXPECT_EQ(w->unlock(0), Fault::none);
    }
    f.barrier(me);
    if (me == 0) {
      EXPECT_EQ(word<std::int64_t>(*w, 0), 100);
    }
    f.close(me, std::move(w));
  }));
}

TEST_P(Rma, AHolderThatDiesIsNamed) {
  Fibers f(3, rules());
  // They live on behind the loss, as they can no more be closed together.
  std::vector<std::byte> memories[3];
  std::unique_ptr<Window> windows[3];
  f.run([&](int me) {
    auto& w = windows[me] = open(f, me, memories[me], 64);
    if (me == 2) {
      EXPECT_EQ(w->lock(LockType::exclusive, 0, 0), Fault::none);
      const std::int64_t x = 1;
      EXPECT_EQ(w->put(view(&x, 8), {0, 0, kLong.get(), 1}), Fault::none);
      EXPECT_EQ(w->flush(0), Fault::none);
      f.barrier(me);
      f.die(me);
    }
    f.barrier(me);
    const std::int64_t x = 2;
    Fault fault = w->lock(LockType::shared, 0, 0);
    if (fault == Fault::none) {
      EXPECT_EQ(w->put(view(&x, 8), {0, 8, kLong.get(), 1}), Fault::none);
      fault = w->unlock(0);
    }
    if (GetParam().shared) {
      EXPECT_EQ(fault, Fault::peer_lost);
      EXPECT_NE(w->lost().find("rank 2"), std::string::npos) << w->lost();
    } else if (me == 1) {
      EXPECT_EQ(fault, Fault::none);  // the target has let go of it
    }
  });
}

// A writer has stood in line at the target, as its answers say: the next shared lock is asked for, and waited for, in
// the call itself; and that ends if the target dies.
TEST_P(Rma, AReaderStandsInLineWhereThereIsAWriter) {
  if (GetParam().shared) return;  // it always does
  Fibers f(3, rules());
  std::vector<std::byte> memories[3];
  std::unique_ptr<Window> windows[3];
  bool holds = false;
  f.run([&](int me) {
    auto& w = windows[me] = open(f, me, memories[me], 64);
    const std::int64_t x = 1;
    const auto put = [&] {
      EXPECT_EQ(w->put(view(&x, 8), {0, 8 * me, kLong.get(), 1}), Fault::none);
      EXPECT_EQ(w->flush(0), Fault::none);
    };
    if (me == 1) {
      EXPECT_EQ(w->lock(LockType::shared, 0, 0), Fault::none);
      put();
    }
    f.barrier(me);
    if (me == 0) {
      while (f.sent(1).back() != "RMA_LOCK 9") f.device(me).MPID_Poll(true);  // shared, in line
      f.die(me);
    }
    if (me == 2) {
      EXPECT_EQ(w->lock(LockType::exclusive, 0, 0), Fault::none);
      put();
      holds = true;
      return;
    }
    for (int i = 0; i < 100; ++i) put();
    EXPECT_EQ(w->unlock(0), Fault::none);
    f.stand_by([&] { return holds; });
    EXPECT_EQ(w->lock(LockType::shared, 0, 0), Fault::peer_lost);
    EXPECT_NE(w->lost().find("rank 0"), std::string::npos) << w->lost();
    EXPECT_EQ(w->flush(0), Fault::sync);
  });
}

// Some of them have left, some are in lists that have not, and one list is not full. The window may end with such.
TEST_P(Rma, GatheredPutsEndWithTheirTarget) {
  if (GetParam().shared) return;  // no packets
  for (const unsigned assertions : {0U, rma::assertion::nocheck}) {
    Fibers f(2, rules());
    std::vector<std::byte> memories[2];
    std::unique_ptr<Window> windows[2];
    f.run([&](int me) {
      auto& w = windows[me] = open(f, me, memories[me], 64);
      if (me == 1) {
        f.barrier(me);
        f.die(me);
      }
      const std::int64_t x = 1;
      const auto put = [&] { return w->put_gathered(view(&x, 8), {1, 8, kLong.get(), 1}); };
      EXPECT_EQ(w->lock(LockType::shared, 1, assertions), Fault::none);
      EXPECT_EQ(put(), Fault::none);
      f.barrier(me);
      Fault fault = Fault::none;
      for (int i = 0; i < 1000 && fault == Fault::none; ++i) fault = put();
      if (fault == Fault::none) {
        fault = w->unlock(1);
      } else {
        EXPECT_EQ(w->unlock(1), Fault::peer_lost);
      }
      EXPECT_EQ(fault, Fault::peer_lost);
      EXPECT_NE(w->lost().find("rank 1"), std::string::npos) << w->lost();
      EXPECT_EQ(w->lock(LockType::shared, 1, assertions), Fault::none);
      EXPECT_EQ(put(), Fault::peer_lost);
    });
  }
}

TEST_P(Rma, AWindowEndsWithGatheredPutsThatHaveNotLeft) {
  if (GetParam().shared) return;  // no packets
  Fibers f(2, rules());
  EXPECT_TRUE(f.run([&](int me) {
    std::vector<std::byte> memory;
    {
      auto w = open(f, me, memory, 64);
      f.barrier(me);
      const std::int64_t x = 1;
      EXPECT_EQ(w->lock(LockType::shared, 1 - me, 0), Fault::none);
      EXPECT_EQ(w->put_gathered(view(&x, 8), {1 - me, 8, kLong.get(), 1}), Fault::none);
    }
    f.barrier(me);  // polls
  }));
}

// Whoever has kept the number of a get finds its data there, however many operations have come behind it.
TEST_P(Rma, TheNumberThatIsKeptOfAGetStaysItsOwn) {
  Fibers f(2, rules());
  EXPECT_TRUE(f.run([&](int me) {
    std::vector<std::byte> memory;
    auto w = open(f, me, memory, 64);
    if (me == 1) {
      const std::int64_t seven = 7;
      std::memcpy(w->base(), &seven, 8);
    }
    f.barrier(me);
    if (me == 0) {
      std::int64_t got = 0;
      const std::int64_t x = 1;
      EXPECT_EQ(w->lock(LockType::shared, 1, rma::assertion::nocheck), Fault::none);
      EXPECT_EQ(w->get(view(&got, 8), {1, 0, kLong.get(), 1}), Fault::none);
      rma::Completion kept = w->completion(1, rma::Until::remote);
      for (int i = 0; i < 300; ++i) EXPECT_EQ(w->put(view(&x, 8), {1, 8, kLong.get(), 1}), Fault::none);
      EXPECT_EQ(w->finish({&kept, 1}), Fault::none);
      EXPECT_EQ(got, 7);
      EXPECT_EQ(w->unlock(1), Fault::none);
    }
    f.close(me, std::move(w));
  }));
}

TEST_P(Rma, ATestForAnOriginThatDiesEnds) {
  Fibers f(2, rules());
  std::vector<std::byte> memories[2];
  std::unique_ptr<Window> windows[2];
  f.run([&](int me) {
    auto& w = windows[me] = open(f, me, memories[me], 64);
    const int other = 1 - me;
    if (me == 1) {
      EXPECT_EQ(w->start({&other, 1}, 0), Fault::none);
      f.barrier(me);
      f.die(me);
    }
    EXPECT_EQ(w->post({&other, 1}, 0), Fault::none);
    f.barrier(me);
    Fault fault = Fault::none;
    for (bool done = false; !done;) fault = w->test(done);
    EXPECT_EQ(fault, Fault::peer_lost);
    EXPECT_NE(w->lost().find("rank 1"), std::string::npos) << w->lost();
    EXPECT_EQ(w->wait(), Fault::sync);
  });
}

INSTANTIATE_TEST_SUITE_P(Ways, Rma,
                         ::testing::Values(Way{"packets", false, Flavor::create},
                                           Way{"shared", true, Flavor::allocate}),
                         [](const auto& i) { return i.param.name; });

}  // namespace
