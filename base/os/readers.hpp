// Threads that look at something without a lock, and the one that takes it away (sleepable read-copy-update, P.
// McKenney): who looks says so in a count; who has unlinked something waits until all have left that may have found it.
//
//     who looks                          who takes away, one at a time
//     turn                               unlink
//     count[turn] += 1                   twice: other turn, wait until the count of the one before is 0
//     find it, look                      it is nobody's
//     count[turn] -= 1
//
// Two counts in turn, so that those who come later are not waited for; both, for a thread may learn of a turn and count
// itself when that is over long since. All accesses are sequentially consistent: either the one who waits sees the
// count, or the one who looks has counted himself behind that, and finds nothing any more.
#pragma once

#include <sched.h>

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/os/atomic.hpp"

namespace rmq::os {

class Readers {
 public:
  /// Whoever looks, as long as he does. He may not wait for anything meanwhile.
  class Guard {
   public:
    explicit Guard(Readers& readers)
        : count_(readers.counts_[readers.turn_.load(std::memory_order_seq_cst)][stripe()].count) {
      count_.fetch_add(1, std::memory_order_seq_cst);
    }
    ~Guard() { count_.fetch_sub(1, std::memory_order_seq_cst); }
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;

   private:
    Atomic<std::uint32_t>& count_;
  };
  /// Returns when nobody looks any more who may have found what has been unlinked before.
  void await() {
    for (int i = 0; i < 2; ++i) {
      const std::uint32_t before = turn_.fetch_xor(1, std::memory_order_seq_cst);
      for (const Line& line : counts_[before])
        while (line.count.load(std::memory_order_seq_cst) != 0) ::sched_yield();
    }
  }

 private:
  // A line for each thread, as far as they go round: no two threads write to one all the time.
  static constexpr std::size_t kStripes = 8;
  struct alignas(64) Line {
    Atomic<std::uint32_t> count{0};
  };
  static std::size_t stripe() {
    static Atomic<std::uint32_t> threads{0};
    static thread_local const std::size_t mine = threads.fetch_add(1, std::memory_order_relaxed) % kStripes;
    return mine;
  }

  std::array<std::array<Line, kStripes>, 2> counts_{};
  Atomic<std::uint32_t> turn_{0};
};

}  // namespace rmq::os
