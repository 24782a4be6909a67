// SPDX-License-Identifier: BSD-3-Clause
// Where one thread sleeps until another one of its process wakes it.
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <ctime>

#include "base/os/atomic.hpp"

#if !defined(RMQ_EXPLORED_ATOMIC)  // whose header has one for fibers

namespace rmq::os {

/// For one sleep: the word tells whether it is over.
class Bunk {
 public:
  /// Until wake() has been called, before or meanwhile; for `most_ns` at most, or for ever (negative); or a signal
  /// comes.
  void sleep(std::int64_t most_ns) {
    const timespec most{most_ns / 1000000000, most_ns % 1000000000};
    ::syscall(SYS_futex, &woken_, FUTEX_WAIT_PRIVATE, 0, most_ns < 0 ? nullptr : &most, nullptr, 0);
  }
  /// The sleeper must not be able to go on before this returns, for the bunk is its own.
  void wake() {
    woken_.store(1, std::memory_order_relaxed);  // relaxed: the kernel looks at it again before it lets anybody sleep
    ::syscall(SYS_futex, &woken_, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
  }

 private:
  Atomic<std::uint32_t> woken_{0};
};

}  // namespace rmq::os

#endif
