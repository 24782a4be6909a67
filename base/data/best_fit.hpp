// SPDX-License-Identifier: BSD-3-Clause
// The allocator of memory that several processes reach: of a rank's heap in the shared segment, and of the symmetric
// heap of OpenSHMEM. Who makes the same calls in the same order gets the same places.
//
// Best fit over free blocks, of equal ones the lowest; neighbours that are free are one block. What it knows of blocks
// lies outside of the heap: a program that writes past an end spoils data, and not the heap. Offsets and sizes are
// bytes. Not for several threads at once.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace rmq {

class BestFit {
 public:
  /// A range of so many bytes that begins at the address `base`, which alignments are meant of.
  void open(std::uint64_t base, std::uint64_t bytes);

  /// `alignment`: a power of two. Nothing when no free block is large enough.
  std::optional<std::uint64_t> take(std::uint64_t bytes, std::uint64_t alignment);
  /// False when nothing that is taken begins there.
  bool give(std::uint64_t offset);
  /// Bytes of what has been taken there; nothing when that is nothing.
  std::optional<std::uint64_t> size_of(std::uint64_t offset) const;
  /// So many bytes more at the end.
  void grow(std::uint64_t bytes);
  /// Takes away what is free at the end, from the multiple of `page` on, if that is `least` bytes or more; how many.
  std::uint64_t shrink(std::uint64_t least, std::uint64_t page);
  std::uint64_t bytes() const { return end_; }
  std::size_t blocks() const { return taken_.size(); }

  /// Makes what begins there that large where it lies. False when the block behind is taken, or too small.
  bool resize(std::uint64_t offset, std::uint64_t bytes);

 private:
  static constexpr std::uint64_t kGrain = 64;  // blocks begin and end on cache lines

  void add_free(std::uint64_t offset, std::uint64_t bytes);
  void drop_free(std::map<std::uint64_t, std::uint64_t>::iterator block);
  static std::uint64_t rounded(std::uint64_t bytes);

  std::uint64_t base_ = 0, end_ = 0;
  std::map<std::uint64_t, std::uint64_t> free_, taken_;        // offset -> bytes
  std::set<std::pair<std::uint64_t, std::uint64_t>> by_size_;  // of free blocks: bytes, offset
};

}  // namespace rmq
