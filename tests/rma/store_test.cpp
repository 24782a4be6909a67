// SPDX-License-Identifier: BSD-3-Clause
// What operations store into a window, store by store: its owner may look, and store itself, between any two.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <bit>
#include <csignal>
#include <cstring>

#include "rma/fibers.hpp"
#include "rma/window/short_way.hpp"

namespace {

using namespace rmq;
using rma::Fault;
using rma::Window;
using rma::WindowOptions;
using rmq::testing::Fibers;

constexpr std::size_t kPage = 4096;  // bytes
constexpr greg_t kTrapFlag = 0x100;

/// A page that counts the instructions that store into it: each faults, and runs alone with the page writable.
class WatchedPage {
 public:
  WatchedPage() {
    memory_ =
        static_cast<std::byte*>(::mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    EXPECT_NE(memory_, MAP_FAILED);
    page_ = memory_;
    struct sigaction action {};
    action.sa_flags = SA_SIGINFO;
    action.sa_sigaction = &WatchedPage::on_fault;
    ::sigaction(SIGSEGV, &action, &before_[0]);
    action.sa_sigaction = &WatchedPage::on_step;
    ::sigaction(SIGTRAP, &action, &before_[1]);
  }
  ~WatchedPage() {
    ::sigaction(SIGSEGV, &before_[0], nullptr);
    ::sigaction(SIGTRAP, &before_[1], nullptr);
    ::munmap(memory_, kPage);
  }
  WatchedPage(const WatchedPage&) = delete;
  WatchedPage& operator=(const WatchedPage&) = delete;

  std::byte* memory() const { return memory_; }
  /// Stores that `act` makes.
  template <class Act>
  int stores(Act&& act) {
    stores_ = 0;
    ::mprotect(memory_, kPage, PROT_READ);
    act();
    ::mprotect(memory_, kPage, PROT_READ | PROT_WRITE);
    return stores_;
  }

 private:
  static void on_fault(int, siginfo_t* info, void* context) {
    const auto* at = static_cast<const std::byte*>(info->si_addr);
    if (at < page_ || at >= page_ + kPage) std::abort();
    ++stores_;
    ::mprotect(page_, kPage, PROT_READ | PROT_WRITE);
    static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_EFL] |= kTrapFlag;
  }
  static void on_step(int, siginfo_t*, void* context) {
    ::mprotect(page_, kPage, PROT_READ);
    static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_EFL] &= ~kTrapFlag;
  }

  static inline std::byte* page_ = nullptr;
  static inline int stores_ = 0;
  std::byte* memory_ = nullptr;
  struct sigaction before_[2] = {};
};

/// A window of one rank over a watched page, in an epoch.
class RmaStores : public ::testing::Test {
 protected:
  void with(const std::function<void(Window&)>& program) {
    Fibers f(1, {});
    EXPECT_TRUE(f.run([&](int me) {
      WindowOptions o;
      o.id = 3;
      o.base = page.memory();
      o.size = kPage;
      auto w = f.window(me, o);
      EXPECT_EQ(w->lock_all(0), Fault::none);
      program(*w);
      EXPECT_EQ(w->unlock_all(), Fault::none);
      f.close(me, std::move(w));
    }));
  }
  WatchedPage page;
  const LayoutRef byte = Layout::basic(Basic::byte, 1);
  const LayoutRef word = Layout::basic(Basic::i64, 8);
};

TEST_F(RmaStores, AShortPutStoresEachByteOnce) {
  with([&](Window& w) {
    std::byte data[33];
    std::memset(data, 7, sizeof data);
    for (std::uint64_t n = 1; n <= 31; ++n) {
      // A store of each power of two in the length: none of them overlap.
      const int least = std::popcount(n);
      EXPECT_EQ(page.stores([&] { EXPECT_TRUE(w.put_now(data, n, 0, 64)); }), least) << n;
      EXPECT_EQ(page.stores([&] {
        EXPECT_EQ(w.put(DataView::contiguous(data, n), {0, 64, byte.get(), n}), Fault::none);
      }),
                least)
          << n;
      EXPECT_EQ(page.memory()[64 + n - 1], data[0]);
      std::memset(page.memory(), 0, kPage);
    }
  });
}

TEST_F(RmaStores, FetchingWithoutAnOperationStoresNothing) {
  with([&](Window& w) {
    std::int64_t before = 1;
    const std::int64_t in = 5;
    EXPECT_EQ(page.stores([&] { EXPECT_TRUE(w.combine_now(ReduceOp::no_op, Basic::i64, &in, &before, 0, 8)); }), 0);
    EXPECT_EQ(before, 0);
    EXPECT_EQ(page.stores([&] {
      EXPECT_EQ(w.fetch_and_op(&in, &before, {0, 8, word.get(), 1}, ReduceOp::no_op), Fault::none);
    }),
              0);
    EXPECT_EQ(page.stores([&] {
      EXPECT_EQ(w.get_accumulate({}, DataView::contiguous(&before, 8), {0, 8, word.get(), 1}, ReduceOp::no_op),
                Fault::none);
    }),
              0);
    // Nor does a comparison that finds something else.
    const std::int64_t other = 9;
    EXPECT_EQ(page.stores([&] { EXPECT_TRUE(w.swap_now(Basic::i64, &in, &other, &before, 0, 8)); }), 0);
    EXPECT_EQ(page.stores([&] { EXPECT_TRUE(w.combine_now(ReduceOp::sum, Basic::i64, &in, nullptr, 0, 8)); }), 1);
    EXPECT_EQ(page.stores([&] { EXPECT_TRUE(w.combine_now(ReduceOp::replace, Basic::i64, &in, nullptr, 0, 8)); }), 1);
  });
}

}  // namespace
