// SPDX-License-Identifier: BSD-3-Clause
// The lock of OpenSHMEM: a queue (J. Mellor-Crummey, M. Scott, 1991) in one `long` of each PE. Of the copy on one PE,
// the lock's home, the lower half says who came last (PE plus 1; 0: nobody holds it). In the copy of each PE the upper
// half is its own place in line: who comes next (PE plus 1), and whether it is its turn; zero while it does not stand
// there. A PE waits on its own memory alone.
//
//     set                               clear
//     before = swap(last, me)           nobody next: last = 0 if it is me, and done;
//     0: has it                           else wait for who comes next, who is about to say so
//     next of `before` = me             place = 0
//     wait for my turn                  turn of next
//
// Who has it has seen all that was done under it before: the turn is given by an operation that releases, and found by
// a look that acquires; `last` is emptied by one that releases, and taken by one that acquires. In a place the PE
// behind writes who is next, and the one before whose turn it is, each once at most and other bits. The PE itself
// clears it when nobody is to write any more: it has its turn, and knows who is next, or that nobody is. Who writes
// there after that has found this PE in `last`, where it puts itself again only then.
#pragma once

#include <cstdint>

#include "shmem/atomics.hpp"

namespace rmq::shmem {

/// `Pes` reaches the words of all PEs, by their symmetric addresses. Its operations acquire and release, or, by
/// packets, come in order:
///   std::uint32_t swap(std::uint32_t* word, std::uint32_t value, int pe);
///   std::uint32_t compare_swap(std::uint32_t* word, std::uint32_t cond, std::uint32_t value, int pe);
///   void set_bits(std::uint32_t* word, std::uint32_t bits, int pe);
///   void await(std::uint32_t* word, done);  // a word of this PE's own memory; done() looks at it
template <class Pes>
class QueueLock {
 public:
  /// `me` is this PE, `home` the same one for all.
  QueueLock(Pes& pes, volatile long* lock, int me, int home)
      : pes_(pes),
        last_(reinterpret_cast<std::uint32_t*>(const_cast<long*>(lock))),
        place_(last_ + 1),
        me_(static_cast<std::uint32_t>(me) + 1),
        home_(home) {}

  void set() {
    const std::uint32_t before = pes_.swap(last_, me_, home_);
    if (before == 0) return;
    pes_.set_bits(place_, me_, pe(before));
    pes_.await(place_, [place = place_] { return (look(place) & kTurn) != 0; });
  }
  /// Whether this PE has it now.
  bool test() { return pes_.compare_swap(last_, 0, me_, home_) == 0; }
  /// Everything that was done under the lock has been completed. False: nobody holds it.
  bool clear() {
    if (next_at(place_) == 0) {
      const std::uint32_t before = pes_.compare_swap(last_, me_, 0, home_);
      if (before == 0) return false;
      if (before == me_) {
        leave();
        return true;
      }
      pes_.await(place_, [place = place_] { return next_at(place) != 0; });
    }
    const int next = pe(next_at(place_));
    leave();
    pes_.set_bits(place_, kTurn, next);
    return true;
  }

 private:
  static constexpr std::uint32_t kTurn = std::uint32_t{1} << 31;
  static int pe(std::uint32_t number) { return static_cast<int>(number) - 1; }

  static std::uint32_t next_at(const std::uint32_t* place) { return look(place) & ~kTurn; }
  /// Relaxed: who writes here next has learned of this PE from what it does next to `last`, which releases.
  void leave() { AtomicRef<std::uint32_t>(*place_).store(0, std::memory_order_relaxed); }

  Pes& pes_;
  std::uint32_t *last_, *place_;  // the halves
  const std::uint32_t me_;        // plus 1
  const int home_;
};

}  // namespace rmq::shmem
