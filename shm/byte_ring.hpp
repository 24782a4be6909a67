// The ring of payload beside a cell ring: packets too long for their cell have their data here, in the same order.
//
// No offset travels: writer and reader run the same rule over the same lengths. A payload takes whole cache lines,
// lies in one piece, and skips to the start of the ring when it would cross the end.
// Positions count bytes from 0; offset = position % size. Publication is the cell's stamp (SYNC POINT A).
// SYNC POINT C: the reader's release of bytes_taken, the writer's acquire of it.
//
// A ring begins small, so that a pair goes around memory that is warm. Only a writer that finds it full takes all the
// memory that there is (in smaller steps a stream of 8 KB stays a fifth slower: its ring ends too small). The packet
// written next says so, and the reader then does the same. Writing goes on behind the small part, where nothing can
// lie: the position skips to the next one with that offset. What is unread keeps its place, and the rule for what may
// be overwritten stays as it is: position e, of the new size n, needs all before e - n to be returned, and e - n has
// e's place in the small part.
//
// No deadlock with lazy returns: a payload is at most a quarter of a grown ring, a skip is less than that, and the
// reader keeps back less than a quarter, so that an emptied ring always has room.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/os/atomic.hpp"
#include "base/packet.hpp"

namespace rmq::shm {

/// Largest payload in a ring of this size.
constexpr std::uint32_t max_payload(std::uint32_t ring_bytes) {
  return ring_bytes / 4;
}

/// Where a payload of `length` bytes lies whose predecessor ended at `position`.
constexpr std::uint64_t place(std::uint64_t position, std::uint32_t length, std::uint64_t size) {
  const std::uint64_t offset = position & (size - 1);
  return offset + length > size ? position + (size - offset) : position;
}

/// First position behind a payload at `position`.
constexpr std::uint64_t end_of(std::uint64_t position, std::uint32_t length) {
  return position + ((length + (kCacheLine - 1)) & ~static_cast<std::uint64_t>(kCacheLine - 1));
}

/// How much of its memory a ring uses. All sizes are powers of two.
class ByteRing {
 protected:
  ByteRing() = default;
  ByteRing(std::uint32_t whole, std::uint32_t first, std::uint64_t start)
      : size_(first), whole_(whole), position_(start) {}

  /// Goes on behind what was in use; how many bytes that brings, 0 where all are in use.
  std::uint64_t widen() {
    const std::uint64_t brought = whole_ - size_;
    if (brought != 0) position_ = ((position_ + brought + whole_ - 1) & ~(whole_ - 1)) - brought;
    size_ = whole_;
    return brought;
  }

  std::uint64_t size_ = 0;
  std::uint64_t whole_ = 0;
  std::uint64_t position_ = 0;  // end of the latest payload
};

class ByteWriter : ByteRing {
 public:
  ByteWriter() = default;
  /// Uses `first` of the `whole` bytes at `ring`, until it grows. Tests start elsewhere than at 0.
  ByteWriter(std::byte* ring, std::uint32_t whole, std::uint32_t first, std::uint64_t start = 0)
      : ByteRing(whole, first, start), ring_(ring), taken_(start), limit_(start + first) {}

  /// Room for `length` bytes (1 … max_payload of the whole), or nullptr when the ring is full. The next publish of a
  /// cell hands it on.
  std::byte* reserve(std::uint32_t length) {
    const std::uint64_t at = place(position_, length, size_);
    const std::uint64_t end = end_of(at, length);
    if (end > limit_) [[unlikely]]
      return nullptr;
    position_ = end;
    return ring_ + (at & (size_ - 1));
  }

  /// Makes room by growing; false when the ring is as large as it can be. Before the packet that comes next the reader
  /// has to be told (ByteReader::grow).
  bool grow() {
    const std::uint64_t brought = widen();
    if (brought == 0) return false;
    new_part_ = position_ + brought;  // all of it is free
    limit_ = new_part_;
    return true;
  }

  /// Takes note of what the reader has returned; false when the count is one that no reader of ours would write.
  bool returned(const Atomic<std::uint64_t>& bytes_taken) {
    const std::uint64_t taken = bytes_taken.load(std::memory_order_acquire);  // SYNC POINT C
    if (taken > position_ || taken < taken_) [[unlikely]]
      return false;
    taken_ = taken;
    limit_ = std::max(taken + size_, new_part_);
    return true;
  }

 private:
  std::byte* ring_ = nullptr;
  std::uint64_t taken_ = 0;     // what bytes_taken said
  std::uint64_t new_part_ = 0;  // end of the part that growing has brought
  std::uint64_t limit_ = 0;     // positions up to here may be written
};

class ByteReader : ByteRing {
 public:
  ByteReader() = default;
  ByteReader(const std::byte* ring, std::uint32_t whole, std::uint32_t first, std::uint64_t start = 0)
      : ByteRing(whole, first, start), ring_(ring), returned_(start) {}

  /// The payload of the packet just read; `length` (1 … max_payload of the whole) was checked by the caller.
  const std::byte* take(std::uint32_t length) {
    const std::uint64_t at = place(position_, length, size_);
    position_ = end_of(at, length);
    return ring_ + (at & (size_ - 1));
  }
  /// The writer has grown before it wrote the packet just read; false when it cannot have.
  bool grow() { return widen() != 0; }

  bool return_is_due() const { return position_ - returned_ >= size_ >> 2; }
  void give_back(Atomic<std::uint64_t>& bytes_taken) {
    returned_ = position_;
    bytes_taken.store(position_, std::memory_order_release);  // SYNC POINT C
  }

 private:
  const std::byte* ring_ = nullptr;
  std::uint64_t returned_ = 0;  // what bytes_taken says
};

}  // namespace rmq::shm
