// SPDX-License-Identifier: BSD-3-Clause
// The buffer of a remote queue in memory that its members share: each puts into it, its owner empties it.
//
//    QueueHead | place 0: stamp, message | place 1 … | place capacity-1
//
//    reserved = round << 32 | places taken in this round.  At or beyond the capacity: full, or locked by the owner.
//
// The owner empties it as the seed does: it sets the count to the capacity, which locks, waits for the stamps of the
// places that were taken, copies the messages out, and opens the next round. A stamp names its round, so none has to be
// cleared, and its sender, so that nobody waits for the dead. All zero is a buffer whose round 0 is over.
//
// SYNC POINT Q1: the owner's release of `reserved` (a new round), a sender's acquire in its count: the places have been
// copied out. SYNC POINT Q2: the sender's release of a stamp, the owner's acquire: the message is whole.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/data/copy.hpp"
#include "base/os/atomic.hpp"
#include "base/packet/packet.hpp"

namespace rmq::rma {

// The line that every sender counts in; the owner resets it.
struct alignas(kCacheLine) QueueHead {
  Atomic<std::uint64_t> reserved;
};
static_assert(Atomic<std::uint64_t>::is_always_lock_free, "a lock in this process would not exclude another's");

class QueueStore {
 public:
  QueueStore() = default;
  /// In bytes(message, capacity) bytes of memory, aligned to a cache line. `message` in bytes.
  QueueStore(void* memory, std::uint32_t message, std::uint32_t capacity)
      : head_(static_cast<QueueHead*>(memory)), message_(message), capacity_(capacity) {}

  static std::uint64_t bytes(std::uint32_t message, std::uint32_t capacity) {
    return sizeof(QueueHead) + stride(message) * capacity;
  }
  explicit operator bool() const { return head_ != nullptr; }
  void* memory() const { return head_; }

  // ---- any member ----

  /// False while the buffer is full or locked. `me`: place among the members.
  bool put(const void* message, int me) {
    // Relaxed: a look, so that tries on a full buffer neither count nor take the line away from others.
    if (taken_of(head_->reserved.load(std::memory_order_relaxed)) >= capacity_) return false;
    const std::uint64_t reserved = head_->reserved.fetch_add(1, std::memory_order_acquire);  // SYNC POINT Q1
    const std::uint32_t index = taken_of(reserved);
    if (index >= capacity_) return false;
    const std::uint64_t mark = (reserved & kRoundBits) | (static_cast<std::uint32_t>(me) << 1);
    const AtomicRef<std::uint64_t> stamp = stamp_of(index);
    stamp.store(mark, std::memory_order_relaxed);  // only whose place it is, in case that I die here
    os::writes_plain(place(index));
    copy_bytes(place(index) + sizeof mark, message, message_);
    stamp.store(mark | kWhole, std::memory_order_release);  // SYNC POINT Q2
    return true;
  }

  // ---- the owner ----

  /// Whether nothing was put in since it was opened.
  bool empty() const { return taken_of(head_->reserved.load(std::memory_order_relaxed)) == 0; }  // relaxed: a look
  /// Ends the round: nothing more can be put. How many places were taken in it.
  std::uint32_t close(std::uint32_t round) {
    // Relaxed: the stamps order the messages.
    const std::uint64_t full = std::uint64_t{round} << 32 | capacity_;
    return std::min(taken_of(head_->reserved.exchange(full, std::memory_order_relaxed)), capacity_);
  }
  /// Begins a round (or goes on with one) in which so many places are taken.
  void open(std::uint32_t round, std::uint32_t taken) {
    head_->reserved.store(std::uint64_t{round} << 32 | taken, std::memory_order_release);  // SYNC POINT Q1
  }
  /// Whether the message at that place, taken in this round, has been written.
  bool whole(std::uint32_t index, std::uint32_t round) const {
    const std::uint64_t stamp = stamp_of(index).load(std::memory_order_acquire);  // SYNC POINT Q2
    return (stamp & (kRoundBits | kWhole)) == (std::uint64_t{round} << 32 | kWhole);
  }
  /// Whose place it is in this round: place among the members; -1 while it has not been said.
  std::int64_t sender(std::uint32_t index, std::uint32_t round) const {
    const std::uint64_t stamp = stamp_of(index).load(std::memory_order_relaxed);  // relaxed: only whose place it is
    return stamp >> 32 == round ? static_cast<std::int64_t>((stamp & ~kRoundBits) >> 1) : -1;
  }
  /// The message at that place, when it is whole.
  const std::byte* message(std::uint32_t index) const { return place(index) + sizeof(std::uint64_t); }

 private:
  // A stamp: round << 32 | sender << 1 | whole.
  static constexpr std::uint64_t kRoundBits = ~std::uint64_t{UINT32_MAX};
  static constexpr std::uint64_t kWhole = 1;

  // Short messages share lines with their neighbours: the owner reads them all anyway.
  static std::uint64_t stride(std::uint32_t message) { return (sizeof(std::uint64_t) + message + 7) / 8 * 8; }
  static std::uint32_t taken_of(std::uint64_t reserved) { return static_cast<std::uint32_t>(reserved); }

  std::byte* place(std::uint32_t index) const {
    return reinterpret_cast<std::byte*>(head_ + 1) + stride(message_) * index;
  }
  AtomicRef<std::uint64_t> stamp_of(std::uint32_t index) const {
    return AtomicRef<std::uint64_t>(*reinterpret_cast<std::uint64_t*>(place(index)));
  }

  QueueHead* head_ = nullptr;
  std::uint32_t message_ = 0;  // bytes
  std::uint32_t capacity_ = 0;
};

}  // namespace rmq::rma
