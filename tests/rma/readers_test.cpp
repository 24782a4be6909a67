// SPDX-License-Identifier: BSD-3-Clause
// Shared locks that are had together, or the program stands still, while others wait for exclusive ones.
#include <gtest/gtest.h>

#include "rma/long_window.hpp"

namespace {

using namespace rmq;
using rma::Fault;
using rma::LockType;
using namespace rmq::testing;

class RmaReaders : public ::testing::TestWithParam<bool> {
 protected:
  static methods::InprocRules rules() {
    methods::InprocRules r;
    r.shared_memory = GetParam();
    return r;
  }
  static std::unique_ptr<rma::Window> open(Fibers& f, int me) {
    rma::WindowOptions o;
    o.id = 7;
    o.flavor = rma::Flavor::allocate;
    o.size = 64;
    o.disp_unit = 8;
    return f.window(me, o);
  }
  static void lock(rma::Window& w, LockType type, int target) {
    EXPECT_EQ(w.lock(type, target, 0), Fault::none);
    std::int64_t x = 0;
    EXPECT_EQ(w.get(DataView::contiguous(&x, 8), {target, 0, kLong.get(), 1}), Fault::none);
    EXPECT_EQ(w.flush(target), Fault::none);
  }
  static void unlock(rma::Window& w, int target) { EXPECT_EQ(w.unlock(target), Fault::none); }
};

// Ranks 2 and 3 hold a lock each and want the other's as well; ranks 0 and 1 wait for them to let go.
TEST_P(RmaReaders, DoNotWaitInACircleOfWritersThatWait) {
  Fibers f(4, rules());
  int writers = 0;
  EXPECT_TRUE(f.run([&](int me) {
    auto w = open(f, me);
    if (me >= 2) lock(*w, LockType::shared, me - 2);
    f.barrier(me);
    if (me < 2) {
      ++writers;
      lock(*w, LockType::exclusive, me);
      unlock(*w, me);
    } else {
      f.stand_by([&] { return writers == 2; });
      lock(*w, LockType::shared, 3 - me);
      unlock(*w, 3 - me);
      unlock(*w, me - 2);
    }
    f.barrier(me);
    f.close(me, std::move(w));
  }));
}

// Rank 1 lets go of its lock when rank 2 has had the same; a writer comes between them.
TEST_P(RmaReaders, ComeThoughAWriterWaitsForOneThatCountsOnThem) {
  Fibers f(3, rules());
  bool writes = false, met = false;
  EXPECT_TRUE(f.run([&](int me) {
    auto w = open(f, me);
    if (me == 1) lock(*w, LockType::shared, 0);
    f.barrier(me);
    if (me == 0) {
      writes = true;
      lock(*w, LockType::exclusive, 0);
      unlock(*w, 0);
      EXPECT_TRUE(met);
    } else {
      f.stand_by([&] { return writes; });
      if (me == 2) {
        lock(*w, LockType::shared, 0);
        met = true;
      }
      while (!met) f.device(me).MPID_Poll(true);
      unlock(*w, 0);
    }
    f.barrier(me);
    f.close(me, std::move(w));
  }));
}

INSTANTIATE_TEST_SUITE_P(Ways, RmaReaders, ::testing::Bool(),
                         [](const auto& i) { return i.param ? "shared" : "packets"; });

}  // namespace
