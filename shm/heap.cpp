#include "shm/heap.hpp"

#include <algorithm>
#include <iterator>

#include "base/packet.hpp"

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
  const auto fits = [&](const Blocks::value_type& block) {
    return round_up(block.first, alignment) + size <= block.first + block.second;
  };
  auto found = std::find_if(free_.begin(), free_.end(), fits);
  if (found == free_.end()) {
    if (!grow(grown_ + size + alignment)) return nullptr;
    found = std::find_if(free_.begin(), free_.end(), fits);
    if (found == free_.end()) return nullptr;  // the range ends here
  }
  const auto [offset, length] = *found;
  const std::uint64_t begin = round_up(offset, alignment);
  free_.erase(found);
  if (begin > offset) free_.emplace(offset, begin - offset);
  if (begin + size < offset + length) free_.emplace(begin + size, offset + length - begin - size);
  used_.emplace(begin, size);
  return segment_->data() + at_ + begin;
}

bool Heap::grow(std::uint64_t to) {
  to = std::min(round_up(std::max(to, grown_ + kStep), kPage), limit_);
  if (to == grown_ || !segment_->reserve(at_ + grown_, to - grown_, "MPI_Alloc_mem")) return false;
  add_free(grown_, to - grown_);
  grown_ = to;
  return true;
}

void Heap::add_free(std::uint64_t offset, std::uint64_t bytes) {
  auto [block, fresh] = free_.emplace(offset, bytes);
  const auto behind = std::next(block);
  if (behind != free_.end() && block->first + block->second == behind->first) {
    block->second += behind->second;
    free_.erase(behind);
  }
  if (block != free_.begin()) {
    const auto before = std::prev(block);
    if (before->first + before->second == block->first) {
      before->second += block->second;
      free_.erase(block);
    }
  }
}

bool Heap::free(void* memory) {
  if (!contains(memory, 0)) return false;
  const auto offset = static_cast<std::uint64_t>(static_cast<std::byte*>(memory) - segment_->data()) - at_;
  const auto block = used_.find(offset);
  if (block == used_.end()) return false;
  add_free(block->first, block->second);
  used_.erase(block);
  shrink();
  return true;
}

// Gives back what is free at the end, when it is much: a window of gigabytes should not stay for the job's life.
void Heap::shrink() {
  if (free_.empty()) return;
  const auto last = std::prev(free_.end());
  const std::uint64_t begin = round_up(last->first, kPage);
  if (last->first + last->second != grown_ || begin > grown_ || grown_ - begin < kGiveBack) return;
  if (!segment_->release(at_ + begin, grown_ - begin)) return;
  const std::uint64_t left = begin - last->first;
  if (left == 0)
    free_.erase(last);
  else
    last->second = left;
  grown_ = begin;
}

bool Heap::contains(const void* memory, std::uint64_t bytes) const {
  if (segment_ == nullptr) return false;
  const auto address = reinterpret_cast<std::uintptr_t>(memory);
  const auto begin = reinterpret_cast<std::uintptr_t>(segment_->data()) + at_;
  return address >= begin && address - begin < limit_ && bytes <= limit_ - (address - begin);
}

}  // namespace rmq::shm
