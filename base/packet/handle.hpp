// SPDX-License-Identifier: BSD-3-Clause
// The opaque 64-bit address that stands for a request on the wire: a slot index and the slot's generation, so that a
// late or forged packet can never touch a request that has since been reused.
#pragma once

#include <cstdint>

namespace rmq {

struct Handle {
  std::uint32_t index = 0;
  std::uint32_t generation = 0;  // odd while the slot is in use; 0 never names a live slot

  constexpr std::uint64_t wire() const { return (std::uint64_t{generation} << 32) | index; }
  static constexpr Handle from_wire(std::uint64_t w) {
    return {static_cast<std::uint32_t>(w), static_cast<std::uint32_t>(w >> 32)};
  }
  constexpr explicit operator bool() const { return generation != 0; }
  friend constexpr bool operator==(Handle, Handle) = default;
};

}  // namespace rmq
