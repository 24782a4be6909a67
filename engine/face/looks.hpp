// SPDX-License-Identifier: BSD-3-Clause
// How programs that look at memory until others have changed it let the rest of the job go on.
#pragma once

#include <cstdint>

#include "base/os/atomic.hpp"

namespace rmq::mpi {

/// Counts looks at memory that others change: a program may look until it has changed, and the rest of the job must go
/// on meanwhile, so it polls now and then.
class Looks {
 public:
  /// Whether this look is the n-th again. Relaxed, and no read-modify-write: whoever makes the count a multiple of n
  /// knows it, and threads that spoil each other's count only look again.
  [[gnu::always_inline]] bool is_nth(std::uint32_t n) {
    const std::uint32_t now = looks_.load(std::memory_order_relaxed) + 1;
    looks_.store(now, std::memory_order_relaxed);
    return now % n == 0;
  }

 private:
  Atomic<std::uint32_t> looks_{0};
};

}  // namespace rmq::mpi
