// SPDX-License-Identifier: BSD-3-Clause
#include "shm/heap.hpp"

#include <algorithm>

#include "base/packet/packet.hpp"

namespace rmq::shm {
namespace {

constexpr std::uint64_t kGiveBack = 64 << 20;  // free bytes at the end that go back to the system
constexpr std::uint64_t kStep = 256 * 1024;    // the heap grows by at least this much

}  // namespace

Heap::Heap(const Segment& segment, std::uint64_t at, std::uint64_t bytes)
    : segment_(&segment), at_(at), limit_(bytes) {}

std::byte* Heap::allocate(std::size_t bytes) {
  if (bytes > limit_) return nullptr;
  const std::uint64_t size = round_up(std::max<std::uint64_t>(bytes, 1), kCacheLine);
  const std::uint64_t alignment = size >= kPage ? kPage : kCacheLine;
  auto begin = reserved_.take(size, alignment);
  if (!begin && grow(size + alignment)) begin = reserved_.take(size, alignment);
  return begin ? segment_->data() + at_ + *begin : nullptr;  // else the range ends here
}

bool Heap::grow(std::uint64_t by) {
  const std::uint64_t grown = reserved_.bytes();
  const std::uint64_t to = std::min(round_up(grown + std::max(by, kStep), kPage), limit_);
  if (to == grown || !segment_->reserve(at_ + grown, to - grown, "MPI_Alloc_mem")) return false;
  reserved_.grow(to - grown);
  return true;
}

// What is free at the end goes back when it is much: a window of gigabytes should not stay for the job's life.
bool Heap::free(void* memory) {
  if (!contains(memory, 0)) return false;
  if (!reserved_.give(static_cast<std::uint64_t>(static_cast<std::byte*>(memory) - segment_->data()) - at_))
    return false;
  if (const std::uint64_t bytes = reserved_.shrink(kGiveBack, kPage))
    if (!segment_->release(at_ + reserved_.bytes(), bytes)) reserved_.grow(bytes);
  return true;
}

bool Heap::contains(const void* memory, std::uint64_t bytes) const {
  if (segment_ == nullptr) return false;
  const auto address = reinterpret_cast<std::uintptr_t>(memory);
  const auto begin = reinterpret_cast<std::uintptr_t>(segment_->data()) + at_;
  return address >= begin && address - begin < limit_ && bytes <= limit_ - (address - begin);
}

}  // namespace rmq::shm
