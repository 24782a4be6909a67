// SPDX-License-Identifier: BSD-3-Clause
// Memory that ranks of one process "share": blocks of the heap, whose token is their address. What mem_alloc() and its
// kin are for methods whose ranks live in one process.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>

#include "base/packet/packet.hpp"

namespace rmq::methods {

/// Those of one rank.
class Blocks {
 public:
  void* alloc(std::size_t bytes) {
    const std::size_t size = (std::max<std::size_t>(bytes, 1) + kCacheLine - 1) / kCacheLine * kCacheLine;
    void* const memory = std::aligned_alloc(kCacheLine, size);
    if (memory) blocks_.emplace(reinterpret_cast<std::uintptr_t>(memory), size);
    return memory;
  }
  /// Whether it was one.
  bool free(void* memory) {
    if (blocks_.erase(reinterpret_cast<std::uintptr_t>(memory)) == 0) return false;
    std::free(memory);
    return true;
  }
  /// 0 where not all bytes lie in one block.
  std::uint64_t token(const void* memory, std::uint64_t bytes) const {
    const auto at = reinterpret_cast<std::uintptr_t>(memory);
    auto block = blocks_.upper_bound(at);
    if (block == blocks_.begin()) return 0;
    --block;
    return at - block->first <= block->second && bytes <= block->second - (at - block->first) ? at : 0;
  }
  static std::byte* at(std::uint64_t token) {
    // NOLINTNEXTLINE(performance-no-int-to-ptr): one process, so the address itself
    return reinterpret_cast<std::byte*>(token);
  }

 private:
  std::map<std::uintptr_t, std::size_t> blocks_;  // -> bytes
};

}  // namespace rmq::methods
