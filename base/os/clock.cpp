#include "base/os/clock.hpp"

namespace rmq::os {

double ns_per_tick() {
#if defined(__x86_64__)
  static const double rate = [] {
    const std::uint64_t t0 = now_ns();
    const std::uint64_t c0 = ticks();
    std::uint64_t t1 = t0;
    while (t1 - t0 < 1000000) t1 = now_ns();
    return static_cast<double>(t1 - t0) / static_cast<double>(ticks() - c0);
  }();
  return rate;
#else
  return 1.0;
#endif
}

}  // namespace rmq::os
