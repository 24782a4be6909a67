// SPDX-License-Identifier: BSD-3-Clause
// What the device of a simulated rank has instead of a machine: see methods/simulated.hpp.
#pragma once

#include <cstdint>

namespace rmq::adi {

struct Simulation {
  const std::uint64_t* now_ns;  // the rank's time
  /// A reduction combines so many bytes: takes the time that it costs. Whether it shall really be done.
  bool (*combines)(void* rank, std::uint64_t bytes);
  void* rank;
};

}  // namespace rmq::adi
