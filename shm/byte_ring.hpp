// SPDX-License-Identifier: BSD-3-Clause
// The ring of payload beside a cell ring: packets too long for their cell have their data here, in the same order.
//
// No offset travels: writer and reader run the same rule over the same lengths. A payload takes whole cache lines,
// lies in one piece, and skips to the start of the ring when it would cross the end.
// Positions count bytes from 0; offset = position % size. Publication is the cell's stamp (SYNC POINT A).
// SYNC POINT C: the reader's release of bytes_taken, the writer's acquire of it.
//
// A ring begins small, so that a pair goes around memory that is warm, and each page that it takes costs two page
// faults. Only a writer that finds no room takes more: for as many payloads of that length as programs have under way
// at once, and all that there is for long ones (a stream of 8 KB else stays a fifth slower, and one of few messages at
// a time half as fast, since rings that exceed the second-level cache are faster). Where all that there is is little,
// as many ranks have it, a payload longer than a quarter of what is in use makes it take what four such need: whoever
// sends one to each of many ranks, again and again, needs no more (64 ranks' first alltoalls of 4 KB took 10 to 15 ms
// each while they went around 64 KB a pair, and take 2 to 4). The packet written next says so, and the reader then does
// the same. Writing goes on behind the part that was in use, where nothing can lie: the position skips to the next one
// with that offset. What is unread keeps its place, and the rule for what may be overwritten stays as it is: position
// e, of the new size n, needs all before e - n to be returned, and whatever is unread in e's place lies at e - n or
// before.
//
// No deadlock with lazy returns: a payload is at most a quarter of a grown ring, a skip is less than that, and the
// reader keeps back less than a quarter, so that an emptied ring always has room.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "base/os/atomic.hpp"
#include "base/os/own_line.hpp"
#include "base/packet/packet.hpp"

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
 public:
  /// Bytes in use.
  std::uint64_t size() const { return size_; }

 protected:
  ByteRing() = default;
  ByteRing(std::uint32_t whole, std::uint32_t first, std::uint64_t start)
      : size_(first), whole_(whole), position_(start) {}

  /// Uses so many bytes, more than before, from now on, and goes on behind what was in use.
  void widen(std::uint64_t size) {
    const std::uint64_t brought = size - size_;
    position_ = ((position_ + brought + size - 1) & ~(size - 1)) - brought;
    size_ = size;
  }

  std::uint64_t size_ = 0;
  std::uint64_t whole_ = 0;
  std::uint64_t position_ = 0;  // end of the latest payload
};

class ByteWriter : public ByteRing {
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
    if (length <= kOwnedAhead) {  // lines for the next payload, which is often as long
      const std::uint64_t until = std::min(end + length, limit_);
      for (std::uint64_t line = end; line < until; line += kCacheLine) os::own_line(ring_ + (line & (size_ - 1)));
    }
    return ring_ + (at & (size_ - 1));
  }

  /// What the ring should grow to for payloads of `length` bytes; its size now when it is as large as it can be.
  std::uint64_t next_size(std::uint32_t length) const {
    if (whole_ <= kLittle && length > max_payload(static_cast<std::uint32_t>(size_))) return least_size(length);
    const std::uint64_t wanted = length < kLong ? std::bit_ceil(std::uint64_t{length} * kAtOnce) : whole_;
    return std::min(std::max(wanted, 2 * size_), whole_);
  }
  /// The smallest size that it can grow to and carries them.
  std::uint64_t least_size(std::uint32_t length) const {
    return std::max(2 * size_, std::bit_ceil(std::uint64_t{length} * 4));
  }

  /// Makes room for a payload by growing to `size`, from its least_size to its next_size: the mark for the reader
  /// (ByteReader::grow), who needs it with the packet that comes next.
  std::uint16_t grow(std::uint64_t size) {
    const std::uint64_t before = size_;
    widen(size);
    new_part_ = position_ + (size_ - before);  // all of it is free
    limit_ = new_part_;
    return static_cast<std::uint16_t>(std::countr_zero(size_));
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
  // Payloads for which a ring that grows has room: benchmarks have 64 under way, and a quarter may be taken and not yet
  // returned.
  static constexpr std::uint64_t kAtOnce = 128;
  // Bytes: as CellWriter::kAhead. Where lines take long, a stream of 128 B gains half, one of 256 B a third; the lines
  // of longer payloads overlap by themselves, and lose by it: 1 KB a tenth of its latency, 4 KB a fifth of its
  // bandwidth.
  static constexpr std::uint32_t kOwnedAhead = 256;
  static constexpr std::uint64_t kLittle = 64 * 1024;  // bytes: of such a ring it matters how much is in use
  static constexpr std::uint32_t kLong = 4096;         // bytes: for such payloads a ring takes all of its memory

  std::byte* ring_ = nullptr;
  std::uint64_t taken_ = 0;     // what bytes_taken said
  std::uint64_t new_part_ = 0;  // end of the part that growing has brought
  std::uint64_t limit_ = 0;     // positions up to here may be written
};

class ByteReader : public ByteRing {
 public:
  ByteReader() = default;
  ByteReader(const std::byte* ring, std::uint32_t whole, std::uint32_t first, std::uint64_t start = 0)
      : ByteRing(whole, first, start), ring_(ring), returned_(start) {}

  /// The payload of the packet just read; `length` (1 … size()) was checked by the caller.
  const std::byte* take(std::uint32_t length) {
    const std::uint64_t at = place(position_, length, size_);
    position_ = end_of(at, length);
    return ring_ + (at & (size_ - 1));
  }
  /// The writer has grown before it wrote the packet just read, which bears this mark; false when it cannot have.
  bool grow(std::uint16_t mark) {
    if (mark >= 32 || (std::uint64_t{1} << mark) <= size_ || (std::uint64_t{1} << mark) > whole_) return false;
    widen(std::uint64_t{1} << mark);
    return true;
  }

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
