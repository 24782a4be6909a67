// SPDX-License-Identifier: BSD-3-Clause
#include "base/os/clock.hpp"

namespace rmq::os {
namespace {
constexpr std::uint64_t kCalibrate = 100'000;  // ns; two clock reads of some 30 ns each err by less than 0.1 %
}  // namespace

double ns_per_tick() {
#if defined(__x86_64__)
  static const double rate = [] {
    const std::uint64_t t0 = now_ns();
    const std::uint64_t c0 = ticks();
    std::uint64_t t1 = t0;
    while (t1 - t0 < kCalibrate) t1 = now_ns();
    return static_cast<double>(t1 - t0) / static_cast<double>(ticks() - c0);
  }();
  return rate;
#else
  return 1.0;
#endif
}

}  // namespace rmq::os
