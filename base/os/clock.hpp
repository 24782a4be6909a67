// The cheapest clock there is: the CPU's constant time-stamp counter where it exists, else CLOCK_MONOTONIC.
#pragma once

#include <cstdint>
#include <ctime>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace rmq::os {

/// Nanoseconds of CLOCK_MONOTONIC (the same on every process of a host).
#if defined(RMQ_EXPLORED_ATOMIC)
std::uint64_t now_ns();  // tests/explore: the same in each run of a schedule
#else
inline std::uint64_t now_ns() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<std::uint64_t>(t.tv_sec) * 1000000000u + static_cast<std::uint64_t>(t.tv_nsec);
}
#endif

/// Nanoseconds since 1970, CLOCK_REALTIME.
inline std::uint64_t wall_ns() {
  timespec t{};
  clock_gettime(CLOCK_REALTIME, &t);
  return static_cast<std::uint64_t>(t.tv_sec) * 1000000000u + static_cast<std::uint64_t>(t.tv_nsec);
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
