// SPDX-License-Identifier: BSD-3-Clause
// The lock of a window's memory on one rank: many readers or one writer, fair to both, in shared memory.
//
// A phase-fair ticket lock (Brandenburg and Anderson, "Spin-Based Reader-Writer Synchronization for Multiprocessor
// Real-Time Systems", Real-Time Systems 46, 2010): readers and writers take turns by phases. A writer waits for the
// readers that came before it and for earlier writers; a reader waits for one writer at most. So neither side starves.
//
// A reader that has had the lock in all but deed *joins* (join()): MPI lets a lock be taken as the first operation asks
// for it, but whoever has come out of the call that locks may have others wait for it. So it must not stand behind a
// writer that came later and waits for readers: it goes in with those. It waits only for a writer that holds the lock.
// Such a reader does not count as having come, but takes one of those that have gone back: the writer's sum is whole
// again when it goes. What decides between the two is one word, of those that have gone: the writer holds the lock when
// it is the gate's number, the reader when it has exchanged another one.
//
// A reader that has stood behind a waiting writer for long may *overtake* it: it gives its place back and joins.
// Readers that hold other locks, or that others count on, would else wait in a circle with writers that wait for them.
//
// Taking it is split, because nobody may block in here: begin() takes a place, try_take() asks whether it is our turn.
// But for that a place cannot be given back: whoever has begun must go on, or the lock is of no use to anybody any
// more.
//
// All zero is a free lock. SYNC POINT L: the release in release() pairs with the acquires in begin() and try_take().
// What release() writes and try_take() reads is sequentially consistent besides: whoever waits announces so,
// sequentially consistent too, and tries once more, and who releases looks for such announcements behind it. In the one
// order of all these, either that try comes behind the release and sees it, or that look behind the announcement.
#pragma once

#include <cstdint>

#include "base/os/atomic.hpp"

namespace rmq::rma {

enum class LockType : std::uint8_t { shared = 1, exclusive = 2 };

/// A place in the queue of a lock, kept by whoever waits or holds.
struct LockPlace {
  LockType type = LockType::shared;
  bool held = false;
  bool first = false;        // writer: all earlier writers are gone
  std::uint32_t number = 0;  // writer: its ticket; reader: the phase that it waits for the end of
  std::uint32_t before = 0;  // writer: readers that came before it
};

class RwLock {
 public:
  /// Takes a place; place.held says whether the lock is held at once.
  void begin(LockType type, LockPlace& place) {
    place = LockPlace{};
    place.type = type;
    if (type == LockType::shared) {
      place.number = gate_of(readers_in_.fetch_add(kCame, std::memory_order_acquire)) & kWriterBits;  // SYNC POINT L
      place.held = place.number == 0;
    } else {
      place.number = writers_in_.fetch_add(1, std::memory_order_relaxed);  // relaxed: only a number
      try_take(place);
    }
  }

  /// The same for a reader that others may count on to have it already: it holds it at once, unless a writer does.
  void join(LockPlace& place) {
    place = LockPlace{};
    while (true) {
      // In this order: what have gone may be fewer by now, and the gate that of a later writer. Then that one waits for
      // more, and the exchange below finds a number that no writer is content with.
      std::uint32_t out = readers_out_.load(std::memory_order_acquire);
      std::uint64_t in = readers_in_.load(std::memory_order_acquire);
      const bool present = (gate_of(in) & kPresent) != 0;
      if (!present || out == (gate_of(in) & ~kWriterBits)) {
        // Nobody is there, or all that a writer waited for have gone: it holds the lock. Not if the gate has changed: a
        // later writer would wait for readers that this one is to go in with.
        if (!readers_in_.compare_exchange_weak(in, in + kCame, std::memory_order_acquire,  // SYNC POINT L
                                               std::memory_order_relaxed))
          continue;
        place.number = gate_of(in) & kWriterBits;
        place.held = !present;
        return;
      }
      // Relaxed: whatever earlier writers did came with the gate, which was opened behind it.
      if (readers_out_.compare_exchange_weak(out, out - kReader, std::memory_order_relaxed,
                                             std::memory_order_relaxed)) {
        place.held = true;
        return;
      }
    }
  }

  /// Of a reader that waits: it gives its place back and joins, past a writer that waits for readers itself. Whether it
  /// holds the lock now.
  bool overtake(LockPlace& place) {
    std::uint64_t in = readers_in_.load(std::memory_order_acquire);
    do {
      // The writer has gone, and the next one waits for this place.
      if ((gate_of(in) & kWriterBits) != place.number) return try_take(place);
      // The writer holds the lock. Acquire only for join(), which looks again.
      if (readers_out_.load(std::memory_order_acquire) == (gate_of(in) & ~kWriterBits)) return false;
    } while (!readers_in_.compare_exchange_weak(in, in - kCame, std::memory_order_acquire, std::memory_order_acquire));
    join(place);
    // Relaxed: a measure of patience. The writer that was passed resets it behind our release.
    if (place.held) overtaken_.fetch_add(1, std::memory_order_relaxed);
    return place.held;
  }
  /// Readers that have passed the writer that waits for readers.
  std::uint32_t overtaken() const { return overtaken_.load(std::memory_order_relaxed); }

  /// Whether it is our turn now; remembered in the place.
  bool try_take(LockPlace& place) {
    if (place.held) return true;
    if (place.type == LockType::shared) {
      const std::uint64_t now = readers_in_.load(std::memory_order_seq_cst);  // SYNC POINT L
      place.held = (gate_of(now) & kWriterBits) != place.number;
      return place.held;
    }
    if (!place.first) {
      if (writers_out_.load(std::memory_order_seq_cst) != place.number) return false;  // SYNC POINT L
      place.first = true;
      // Relaxed: readers_out_ below acquires what readers did.
      std::uint64_t in = readers_in_.load(std::memory_order_relaxed), shut;
      do {
        place.before = static_cast<std::uint32_t>(in >> 32) * kReader;
        shut = in | place.before | kPresent | (place.number & kPhase);
      } while (!readers_in_.compare_exchange_weak(in, shut, std::memory_order_relaxed, std::memory_order_relaxed));
    }
    place.held = readers_out_.load(std::memory_order_seq_cst) == place.before;  // SYNC POINT L
    return place.held;
  }

  /// Only who holds it. A sequentially consistent look for waiting ranks behind it misses none that has announced
  /// itself and tries again.
  void release(LockPlace& place) {
    place.held = false;
    if (place.type == LockType::shared) {
      readers_out_.fetch_add(kReader, std::memory_order_seq_cst);  // SYNC POINT L
    } else {
      overtaken_.store(0, std::memory_order_relaxed);
      readers_in_.fetch_and(~kGate, std::memory_order_seq_cst);            // SYNC POINT L: lets readers in
      writers_out_.exchange(place.number + 1, std::memory_order_seq_cst);  // SYNC POINT L: lets the next writer go on
    }
  }

  /// Writers that hold it or wait for it, by now.
  std::uint32_t writers() const {
    // Relaxed: a hint. In this order a writer that goes meanwhile is not counted as one that comes.
    const std::uint32_t in = writers_in_.load(std::memory_order_relaxed);
    const auto ahead = static_cast<std::int32_t>(in - writers_out_.load(std::memory_order_relaxed));
    return ahead > 0 ? static_cast<std::uint32_t>(ahead) : 0;
  }

 private:
  // The gate: what readers_out_ must be for the writer that is present, and its bits; all zero where there is none.
  static constexpr std::uint32_t kReader = 0x100;  // readers are counted from here on, modulo 2^24
  static constexpr std::uint32_t kPresent = 2;     // a writer holds the lock or waits for readers to go …
  static constexpr std::uint32_t kPhase = 1;       // … and whether its number is odd
  static constexpr std::uint32_t kWriterBits = kPresent | kPhase;
  static constexpr std::uint64_t kCame = std::uint64_t{1} << 32, kGate = kCame - 1;
  static constexpr std::uint32_t gate_of(std::uint64_t in) { return static_cast<std::uint32_t>(in); }

  Atomic<std::uint64_t> readers_in_{0};   // came in, above the gate
  Atomic<std::uint32_t> readers_out_{0};  // have gone
  Atomic<std::uint32_t> writers_in_{0};   // tickets given out
  Atomic<std::uint32_t> writers_out_{0};  // writers that have gone
  Atomic<std::uint32_t> overtaken_{0};    // overtaken()
};

}  // namespace rmq::rma
