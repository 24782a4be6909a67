// SPDX-License-Identifier: BSD-3-Clause
#include "base/data/best_fit.hpp"

#include <algorithm>
#include <iterator>

namespace rmq {

void BestFit::open(std::uint64_t base, std::uint64_t bytes) {
  base_ = base;
  free_.clear();
  taken_.clear();
  by_size_.clear();
  end_ = 0;
  grow(bytes / kGrain * kGrain);
}

void BestFit::grow(std::uint64_t bytes) {
  add_free(end_, bytes);
  end_ += bytes;
}

std::uint64_t BestFit::shrink(std::uint64_t least, std::uint64_t page) {
  if (free_.empty()) return 0;
  const auto [begin, bytes] = *std::prev(free_.end());
  const std::uint64_t from = (begin + page - 1) / page * page;
  if (begin + bytes != end_ || from > end_ || end_ - from < least) return 0;
  drop_free(std::prev(free_.end()));
  add_free(begin, from - begin);
  const std::uint64_t gone = end_ - from;
  end_ = from;
  return gone;
}

// An overflow comes out as more than any heap has.
std::uint64_t BestFit::rounded(std::uint64_t bytes) {
  if (bytes > UINT64_MAX - kGrain) return UINT64_MAX;
  return std::max<std::uint64_t>((bytes + kGrain - 1) / kGrain * kGrain, kGrain);
}

void BestFit::add_free(std::uint64_t offset, std::uint64_t bytes) {
  if (bytes == 0) return;
  auto above = free_.lower_bound(offset);
  if (above != free_.end() && above->first == offset + bytes) {
    bytes += above->second;
    const auto gone = above++;
    drop_free(gone);
  }
  if (above != free_.begin()) {
    const auto below = std::prev(above);
    if (below->first + below->second == offset) {
      offset = below->first;
      bytes += below->second;
      drop_free(below);
    }
  }
  free_.emplace(offset, bytes);
  by_size_.emplace(bytes, offset);
}

void BestFit::drop_free(std::map<std::uint64_t, std::uint64_t>::iterator block) {
  by_size_.erase({block->second, block->first});
  free_.erase(block);
}

std::optional<std::uint64_t> BestFit::take(std::uint64_t bytes, std::uint64_t alignment) {
  const std::uint64_t wanted = rounded(bytes);
  alignment = std::max(alignment, kGrain);
  for (auto fit = by_size_.lower_bound({wanted, 0}); fit != by_size_.end(); ++fit) {
    const auto [size, begin] = *fit;
    const std::uint64_t gap = (alignment - (base_ + begin) % alignment) % alignment;
    if (gap > size || size - gap < wanted) continue;
    const std::uint64_t at = begin + gap;
    drop_free(free_.find(begin));
    add_free(begin, gap);
    add_free(at + wanted, size - gap - wanted);
    taken_.emplace(at, wanted);
    return at;
  }
  return std::nullopt;
}

bool BestFit::give(std::uint64_t offset) {
  const auto block = taken_.find(offset);
  if (block == taken_.end()) return false;
  const std::uint64_t bytes = block->second;
  taken_.erase(block);
  add_free(offset, bytes);
  return true;
}

std::optional<std::uint64_t> BestFit::size_of(std::uint64_t offset) const {
  const auto block = taken_.find(offset);
  if (block == taken_.end()) return std::nullopt;
  return block->second;
}

bool BestFit::resize(std::uint64_t offset, std::uint64_t bytes) {
  const auto block = taken_.find(offset);
  const std::uint64_t wanted = rounded(bytes), had = block->second;
  if (wanted > had) {
    const auto behind = free_.find(offset + had);
    if (behind == free_.end() || behind->second < wanted - had) return false;
    const std::uint64_t size = behind->second;
    drop_free(behind);
    add_free(offset + wanted, size - (wanted - had));
  } else {
    add_free(offset + wanted, had - wanted);
  }
  block->second = wanted;
  return true;
}

}  // namespace rmq
