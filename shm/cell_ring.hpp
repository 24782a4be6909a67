// SPDX-License-Identifier: BSD-3-Clause
// A ring of one-line cells from one writer to one reader; each cell is a Packet. There is no shared head: the first
// word of a cell, its stamp, says whether the cell holds a packet, so that an arriving packet costs the reader one
// cache line.
//
// Positions count cells from 0 and never wrap in practice; cell = position % cells, lap = position / cells + 1.
// Invariants
//   - A cell holds the packet of position p exactly when its stamp is lap(p), modulo 2^32. Before, it is lap(p) - 1:
//     zero in a new segment.
//   - The writer writes position p only after the reader has returned p - cells.
//   - Only the writer writes cells; only the reader writes the returned count (RingHeader::cells_taken).
//
// SYNC POINT A: the writer's release of the stamp, the reader's acquire of it: the rest of the cell, and the payload in
// the byte ring, are complete.
// SYNC POINT B: the reader's release of cells_taken, the writer's acquire of it: the reader has finished with the
// cells.
//
// Writer and reader are separate types; each is used by one thread at a time.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/os/atomic.hpp"
#include "base/os/own_line.hpp"
#include "base/packet/packet.hpp"

namespace rmq::shm {

struct alignas(kCacheLine) Cell {
  Atomic<std::uint32_t> stamp;
  std::byte rest[kCacheLine - 4];
};
static_assert(sizeof(Cell) == sizeof(Packet) && offsetof(Packet, kind) == offsetof(Cell, rest));
static_assert(Atomic<std::uint32_t>::is_always_lock_free, "a lock in this process would not exclude another's");

/// Lap number of a position in a ring of 2^shift cells.
constexpr std::uint32_t lap_of(std::uint64_t position, unsigned shift) {
  return static_cast<std::uint32_t>(position >> shift) + 1;
}

class CellWriter {
 public:
  CellWriter() = default;  // full for ever
  /// `cells` must be a power of two. Tests start elsewhere than at 0.
  CellWriter(Cell* ring, std::uint32_t cells, std::uint64_t start = 0)
      : ring_(ring),
        mask_(cells - 1),
        shift_(static_cast<unsigned>(std::countr_zero(cells))),
        position_(start),
        limit_(start + cells) {}

  bool full() const { return position_ == limit_; }

  /// The cell to fill, all but its stamp. Only when not full.
  Cell& cell() const { return ring_[position_ & mask_]; }

  /// Hands the filled cell to the reader.
  [[gnu::always_inline]] void publish() {
    cell().stamp.store(lap_of(position_, shift_), std::memory_order_release);  // SYNC POINT A
    ++position_;
    os::own_line(&ring_[(position_ + kAhead) & mask_]);
  }

  /// Takes note of what the reader has returned; false when the count is one that no reader of ours would write.
  bool returned(const Atomic<std::uint64_t>& cells_taken) {
    const std::uint64_t taken = cells_taken.load(std::memory_order_acquire);  // SYNC POINT B
    if (taken > position_ || position_ - taken > mask_ + 1) [[unlikely]]
      return false;
    limit_ = taken + mask_ + 1;
    return true;
  }
  /// Whether returned() would bring news.
  bool may_return(const Atomic<std::uint64_t>& cells_taken) const {
    return cells_taken.load(std::memory_order_relaxed) + mask_ + 1 != limit_;  // relaxed: a look; returned() acquires
  }

  std::uint64_t position() const { return position_; }

 private:
  // The cell that becomes this CPU's own while the ones before it are written: stores leave a CPU in order, so that
  // each would wait for its line, one after the other. Where lines take long (240 ns; AMD EPYC, two complexes) a stream
  // of 8 B then makes 21 million messages a second, not 11. 3 to 5 are alike, with 8 it is 14.
  static constexpr std::uint64_t kAhead = 4;

  Cell* ring_ = nullptr;
  std::uint64_t mask_ = 0;
  unsigned shift_ = 0;
  std::uint64_t position_ = 0;  // of the next packet
  std::uint64_t limit_ = 0;     // first position that is not returned yet
};

class CellReader {
 public:
  CellReader() = default;
  CellReader(const Cell* ring, std::uint32_t cells, std::uint64_t start = 0)
      : ring_(ring),
        mask_(cells - 1),
        shift_(static_cast<unsigned>(std::countr_zero(cells))),
        position_(start),
        returned_(start) {}

  /// Whether a packet is there. After true, cell() is the reader's until give_back().
  bool ready() const {
    return cell().stamp.load(std::memory_order_acquire) == lap_of(position_, shift_);  // SYNC POINT A
  }
  const Cell& cell() const { return ring_[position_ & mask_]; }

  void advance() { ++position_; }
  /// Fetches the cells behind the next one into the cache.
  void prefetch() const {
    __builtin_prefetch(&ring_[(position_ + 2) & mask_]);
    __builtin_prefetch(&ring_[(position_ + 3) & mask_]);
  }

  /// Whether a quarter of the ring waits to be returned.
  bool return_is_due() const { return position_ - returned_ > mask_ >> 2; }
  void give_back(Atomic<std::uint64_t>& cells_taken) {
    returned_ = position_;
    cells_taken.store(position_, std::memory_order_release);  // SYNC POINT B
  }

  /// Whether the stamp is one that a writer of ours can have written. For rare checks.
  bool sane() const {
    const std::uint32_t lap = lap_of(position_, shift_);
    const std::uint32_t stamp = cell().stamp.load(std::memory_order_acquire);
    return stamp == lap || stamp == lap - 1;
  }

  std::uint64_t position() const { return position_; }

 private:
  const Cell* ring_ = nullptr;
  std::uint64_t mask_ = 0;
  unsigned shift_ = 0;
  std::uint64_t position_ = 0;  // of the next packet
  std::uint64_t returned_ = 0;  // what cells_taken says
};

}  // namespace rmq::shm
