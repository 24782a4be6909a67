// SPDX-License-Identifier: BSD-3-Clause
// What one side has of the other's packets when a connection takes the place of an earlier one.
#pragma once

#include <cstdint>

namespace rmq::tcp {

/// The number before that of the first packet of a link.
inline constexpr std::uint32_t kBeforeFirst = 0;

/// Everything up to the packet `number`, and the first `landed` bytes of the payload of the one behind it.
struct Received {
  std::uint32_t number = kBeforeFirst;
  std::uint32_t landed = 0;
};

}  // namespace rmq::tcp
