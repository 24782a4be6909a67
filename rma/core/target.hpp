// SPDX-License-Identifier: BSD-3-Clause
// Where an operation goes.
#pragma once

#include <cstdint>

#include "base/data/layout.hpp"

namespace rmq::rma {

/// `count` elements of `layout`, the first one's origin `disp` displacement units of the target's behind its base
/// (dynamic windows: at the address `disp`).
struct Target {
  int rank = 0;
  std::int64_t disp = 0;
  const Layout* layout = nullptr;  // never null
  std::uint64_t count = 0;
};

}  // namespace rmq::rma
