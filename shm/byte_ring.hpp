// The ring of payload beside a cell ring: packets too long for their cell have their data here, in the same order.
//
// No offset travels: writer and reader run the same rule over the same lengths. A payload takes whole cache lines,
// lies in one piece, and skips to the start of the ring when it would cross the end.
// Positions count bytes from 0; offset = position % size. Publication is the cell's stamp (SYNC POINT A).
// SYNC POINT C: the reader's release of bytes_taken, the writer's acquire of it.
//
// No deadlock with lazy returns: a payload is at most a quarter of the ring, a skip is less than that, and the reader
// keeps back less than a quarter, so that an emptied ring always has room.
#pragma once

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

class ByteWriter {
 public:
  ByteWriter() = default;
  ByteWriter(std::byte* ring, std::uint32_t size, std::uint64_t start = 0)
      : ring_(ring), size_(size), position_(start), limit_(start + size) {}

  /// Room for `length` bytes (1 … max_payload), or nullptr when the ring is full. The next publish of a cell hands it
  /// on.
  std::byte* reserve(std::uint32_t length) {
    const std::uint64_t at = place(position_, length, size_);
    const std::uint64_t end = end_of(at, length);
    if (end > limit_) [[unlikely]]
      return nullptr;
    position_ = end;
    return ring_ + (at & (size_ - 1));
  }

  /// Takes note of what the reader has returned; false when the count is one that no reader of ours would write.
  bool returned(const Atomic<std::uint64_t>& bytes_taken) {
    const std::uint64_t taken = bytes_taken.load(std::memory_order_acquire);  // SYNC POINT C
    if (taken > position_ || position_ - taken > size_) [[unlikely]]
      return false;
    limit_ = taken + size_;
    return true;
  }

 private:
  std::byte* ring_ = nullptr;
  std::uint64_t size_ = 0;
  std::uint64_t position_ = 0;  // end of the latest payload
  std::uint64_t limit_ = 0;     // positions up to here may be written
};

class ByteReader {
 public:
  ByteReader() = default;
  ByteReader(const std::byte* ring, std::uint32_t size, std::uint64_t start = 0)
      : ring_(ring), size_(size), position_(start), returned_(start) {}

  /// The payload of the packet just read; `length` (1 … max_payload) was checked by the caller.
  const std::byte* take(std::uint32_t length) {
    const std::uint64_t at = place(position_, length, size_);
    position_ = end_of(at, length);
    return ring_ + (at & (size_ - 1));
  }

  bool return_is_due() const { return position_ - returned_ >= size_ >> 2; }
  void give_back(Atomic<std::uint64_t>& bytes_taken) {
    returned_ = position_;
    bytes_taken.store(position_, std::memory_order_release);  // SYNC POINT C
  }

 private:
  const std::byte* ring_ = nullptr;
  std::uint64_t size_ = 0;
  std::uint64_t position_ = 0;  // end of the latest payload taken
  std::uint64_t returned_ = 0;  // what bytes_taken says
};

}  // namespace rmq::shm
