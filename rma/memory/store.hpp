// SPDX-License-Identifier: BSD-3-Clause
// Stores into window memory, which its owner may watch while they happen.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "base/data/copy.hpp"

namespace rmq::rma {

/// copy_bytes into a window. Up to 32 bytes each byte is stored once, 1, 2, 4, 8 or 16 bytes by one store of that
/// width: an owner that sees a flag and resets it must not find it set again by the rest of the same put.
inline void store_once(void* to, const void* from, std::uint64_t n) {
  if (n > 32) return copy_bytes(to, from, n);
  auto* into = static_cast<std::byte*>(to);
  const auto* of = static_cast<const std::byte*>(from);
  const auto store = [&]<std::size_t kBytes>(std::integral_constant<std::size_t, kBytes>) {
    std::memcpy(into, of, kBytes);
    into += kBytes;
    of += kBytes;
  };
  if (n == 8) [[likely]]
    return store(std::integral_constant<std::size_t, 8>{});
  if ((n & 32) != 0) store(std::integral_constant<std::size_t, 32>{});
  if ((n & 16) != 0) store(std::integral_constant<std::size_t, 16>{});
  if ((n & 8) != 0) store(std::integral_constant<std::size_t, 8>{});
  if ((n & 4) != 0) store(std::integral_constant<std::size_t, 4>{});
  if ((n & 2) != 0) store(std::integral_constant<std::size_t, 2>{});
  if ((n & 1) != 0) store(std::integral_constant<std::size_t, 1>{});
}

}  // namespace rmq::rma
