// SPDX-License-Identifier: BSD-3-Clause
// A rank's heap in the shared segment, for mem_alloc: peers reach what lies here with plain loads and stores.
//
// Best fit (base/data/best_fit.hpp). The book-keeping is private memory, so that no program error in the shared blocks
// can break it. Memory is reserved from the system as the heap grows; only much of it goes back.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/data/best_fit.hpp"
#include "shm/segment.hpp"

namespace rmq::shm {

class Heap {
 public:
  Heap() = default;
  /// The range [at, at + bytes) of `segment`, which must outlive the heap.
  Heap(const Segment& segment, std::uint64_t at, std::uint64_t bytes);

  /// A block of at least `bytes` bytes, aligned to 64 bytes, or to a page from a page upwards; nullptr when range or
  /// system have no more. Zero bytes give a block of their own.
  std::byte* allocate(std::size_t bytes);

  /// Whether `memory` is a block of this heap; then it is freed.
  bool free(void* memory);

  /// Whether [memory, memory + bytes) lies in this heap's range.
  bool contains(const void* memory, std::uint64_t bytes) const;

  std::size_t blocks() const { return reserved_.blocks(); }

 private:
  bool grow(std::uint64_t by);

  const Segment* segment_ = nullptr;
  std::uint64_t at_ = 0;     // of the heap in the segment
  std::uint64_t limit_ = 0;  // bytes of the range
  BestFit reserved_;         // from its begin on, what is reserved of it
};

}  // namespace rmq::shm
