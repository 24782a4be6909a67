// SPDX-License-Identifier: BSD-3-Clause
// The cheapest clock there is: the CPU's constant time-stamp counter where it exists, else CLOCK_MONOTONIC.
#pragma once

#include <cstdint>
#include <ctime>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace rmq::os {

/// Nanoseconds of a clock of the system: a system call where it counts the time of a CPU.
inline std::uint64_t read_ns(clockid_t clock) {
  timespec t{};
  clock_gettime(clock, &t);
  return static_cast<std::uint64_t>(t.tv_sec) * 1000000000u + static_cast<std::uint64_t>(t.tv_nsec);
}

/// Nanoseconds of CLOCK_MONOTONIC (the same on every process of a host).
#if defined(RMQ_EXPLORED_ATOMIC)
std::uint64_t now_ns();  // tests/explore: the same in each run of a schedule
#else
inline std::uint64_t now_ns() {
  return read_ns(CLOCK_MONOTONIC);
}
#endif

/// Nanoseconds since 1970, CLOCK_REALTIME.
inline std::uint64_t wall_ns() {
  return read_ns(CLOCK_REALTIME);
}

/// Ticks of the fastest clock; monotonic and the same on all cores where the CPU's counter is invariant.
inline std::uint64_t ticks() {
#if defined(__x86_64__)
  return __rdtsc();
#else
  return now_ns();
#endif
}

/// Nanoseconds a tick takes, to 0.1 %: measured once in a process, over 0.1 ms.
double ns_per_tick();

}  // namespace rmq::os
