// SPDX-License-Identifier: BSD-3-Clause
// The inbox of a rank: cells for packets of one cache line from any rank of its host, in the order in which they came.
// Pairs that talk little go this way, so that a host's memory grows with its ranks and not with its pairs.
//
// Position p lies in cell p % cells. The cell's stamp is lap(p) - 1 while it is free for p, kClaimed | host rank while
// a sender fills it, and lap(p) when it holds its packet. A sender that finds the cell at the tail taken moves the tail
// on in the name of whoever took it. So a process that ends in between keeps nobody but the reader, who knows its name.
//
// SYNC POINT F: the sender's release of the stamp, the reader's acquire of it: the rest of the cell is complete.
// SYNC POINT G: the reader's release of `taken`, a sender's acquire of it: the reader has finished with the cells.
// The tail is moved before the packet is published: who knows of a position taken finds the tail behind it.
#pragma once

#include <bit>
#include <cstdint>

#include "base/os/atomic.hpp"
#include "shm/cell_ring.hpp"
#include "shm/map.hpp"

namespace rmq::shm {

/// An inbox as it lies in this process.
struct Inbox {
  InboxHeader* header = nullptr;
  Cell* cells = nullptr;
  std::uint32_t size = 0;  // cells, power of two

  static constexpr std::uint32_t kClaimed = 1u << 31;

  /// What the stamp of a position's cell becomes.
  std::uint32_t lap(std::uint64_t position) const {
    return lap_of(position, static_cast<unsigned>(std::countr_zero(size))) & ~kClaimed;
  }
  Cell& cell(std::uint64_t position) const { return cells[position & (size - 1)]; }

  /// Behind all that the caller has put here. Acquire: see InboxReader::tail.
  std::uint64_t tail() const { return header->tail.load(std::memory_order_acquire); }

  /// Whether put() may find room. What it has refused it takes again when this has become true.
  bool has_room() const {
    const std::uint64_t returned = header->taken.load(std::memory_order_acquire);  // SYNC POINT G
    return header->tail.load(std::memory_order_relaxed) - returned < size;         // relaxed: ordered by SYNC POINT G
  }

  enum class Put : std::uint8_t { done, full, damaged };
  /// Calls fill(Cell&), which writes all but the stamp, and publishes the cell; nothing has changed when it is not
  /// done: there is no room, or the counts make no sense. `me` is the caller's host rank.
  template <class Fill>
  Put put(std::uint32_t me, const Fill& fill) const {
    for (;;) {
      const std::uint64_t taken = header->taken.load(std::memory_order_acquire);  // SYNC POINT G
      std::uint64_t at = header->tail.load(std::memory_order_acquire);  // for the check below; the stamp decides
      if (at - taken >= size) {
        // The tail lies between what was returned before it was looked at and what has been since, and the size more:
        // whoever has moved it, which we have acquired, has seen as much returned.
        const std::uint64_t most = header->taken.load(std::memory_order_relaxed) + size;
        return at >= taken && at <= most ? Put::full : Put::damaged;
      }
      std::uint32_t stamp = (lap(at) - 1) & ~kClaimed;
      // Relaxed: what was in the cell is the reader's no longer, by SYNC POINT G.
      const bool mine = cell(at).stamp.compare_exchange_strong(stamp, kClaimed | me, std::memory_order_relaxed,
                                                               std::memory_order_relaxed);
      const std::uint64_t position = at;
      header->tail.compare_exchange_strong(at, at + 1, std::memory_order_release, std::memory_order_relaxed);
      if (!mine) continue;
      fill(cell(position));
      cell(position).stamp.store(lap(position), std::memory_order_release);  // SYNC POINT F
      return Put::done;
    }
  }
};

/// The owner's end.
class InboxReader {
 public:
  InboxReader() = default;
  /// Tests start elsewhere than at 0.
  explicit InboxReader(const Inbox& inbox, std::uint64_t start = 0)
      : inbox_(inbox), position_(start), returned_(start) {}

  /// Whether a packet is there. After true, cell() is the reader's until give_back().
  bool ready() const { return stamp() == inbox_.lap(position_); }
  const Cell& cell() const { return inbox_.cell(position_); }
  void advance() { ++position_; }
  /// Positions before it have been taken.
  std::uint64_t position() const { return position_; }
  /// Behind whatever a sender has published that has ended. Acquire: its packets are visible.
  std::uint64_t tail() const { return inbox_.tail(); }

  /// The host rank of a sender that has begun to fill the next cell; kNobody when none has.
  static constexpr std::uint32_t kNobody = UINT32_MAX;
  std::uint32_t claimant() const {
    const std::uint32_t now = stamp();
    return (now & Inbox::kClaimed) != 0 ? now & ~Inbox::kClaimed : kNobody;
  }
  /// The claimant has ended, and the stamp was looked at since: it will not fill the cell.
  void skip() {
    inbox_.cell(position_).stamp.store(inbox_.lap(position_), std::memory_order_relaxed);  // ordered by SYNC POINT G
    advance();
  }

  /// Whether a quarter of the cells waits to be returned.
  bool return_is_due() const { return position_ - returned_ > (inbox_.size - 1) >> 2; }
  void give_back() {
    returned_ = position_;
    inbox_.header->taken.store(position_, std::memory_order_release);  // SYNC POINT G
  }

  /// Whether stamp and tail are what ranks of ours, of which there are so many, can have written.
  bool sane(std::uint32_t ranks) const {
    if (tail() - returned_ > inbox_.size) return false;
    const std::uint32_t now = stamp(), lap = inbox_.lap(position_);
    return now == lap || now == ((lap - 1) & ~Inbox::kClaimed) ||
           ((now & Inbox::kClaimed) != 0 && (now & ~Inbox::kClaimed) < ranks);
  }

 private:
  std::uint32_t stamp() const { return cell().stamp.load(std::memory_order_acquire); }  // SYNC POINT F

  Inbox inbox_;
  std::uint64_t position_ = 0;  // of the next packet
  std::uint64_t returned_ = 0;  // what `taken` says
};

}  // namespace rmq::shm
