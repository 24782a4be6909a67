// SPDX-License-Identifier: BSD-3-Clause
// What others read and write of one rank's part of a window, besides its data: the lock, region mutexes and the words
// of active-target synchronisation. In shared memory where the data is, else in the rank's own; all zero at the start.
//
//    Control | Pair x members on this host
#pragma once

#include <array>
#include <cstdint>
#include <new>

#include "base/os/atomic.hpp"
#include "base/packet/packet.hpp"
#include "rma/memory/rw_lock.hpp"

namespace rmq::rma {

/// The words of one member on this host, written by nobody else (or, where it sends packets, by the owner for it).
struct Pair {
  Atomic<std::uint32_t> hold;       // places that the member has in the queue of the lock, held or waited for
  Atomic<std::uint32_t> waits;      // those of them that it waits for, asleep perhaps
  Atomic<std::uint32_t> posts;      // times that the member has opened its window to the owner
  Atomic<std::uint32_t> completes;  // times that the member has ended an access epoch to the owner
};
static_assert(sizeof(Pair) == 16);

/// A mutex of a region; a line of its own, for that is what contention is about.
struct alignas(kCacheLine) RegionMutex {
  Atomic<std::uint32_t> holder;  // place in the window, plus 1; 0: free
};

struct Control {
  static constexpr std::size_t kRegions = 64;

  // Line 0: written by whoever takes the lock.
  alignas(kCacheLine) RwLock lock;
  Atomic<std::uint32_t> waiters;  // members that wait for the lock: whoever releases it looks for them
  // Lines 1 and 2: one word for each round of a barrier, each written by one member: barriers signalled so far.
  alignas(kCacheLine) std::array<Atomic<std::uint32_t>, 32> rounds;
  std::array<RegionMutex, kRegions> regions;

  /// Of the `member`-th on this host.
  Pair& pair(int member) { return reinterpret_cast<Pair*>(this + 1)[member]; }

  /// Bytes for a window of so many members on this host.
  static std::uint64_t bytes(std::size_t members) { return sizeof(Control) + members * sizeof(Pair); }
  /// Makes one in `bytes(members)` bytes of memory, aligned to a cache line.
  static Control* make(void* memory, std::size_t members) {
    auto* control = new (memory) Control{};
    new (control + 1) Pair[members]{};
    return control;
  }
};

}  // namespace rmq::rma
