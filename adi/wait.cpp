// SPDX-License-Identifier: BSD-3-Clause
#include "adi/wait.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "base/os/clock.hpp"
#include "base/os/cpus.hpp"

namespace rmq::adi {
namespace {

// Polls between two looks at the clock while spinning: a look costs about as much as an empty poll.
constexpr std::uint32_t kPollsPerClock = 32;

// An answer that takes longer than this does not come from a rank that is running: another program may have its core,
// or want ours. From here on a spinning rank offers its core each time it reads the clock; on an idle machine that
// costs nothing that matters by then. Offered to a busy program, the core is gone for a whole slice of 3 ms: so this
// lies above what a round trip takes by TCP. With a busy program on each of two cores, 64 KB by shm took 4 ms at 10 us,
// 12 us at 50.
constexpr std::uint64_t kSpinAloneNs = 50'000;

// CPUs that the cgroup's quota amounts to, rounded up; 0 when there is no quota.
int quota_cpus() {
  std::FILE* f = std::fopen("/sys/fs/cgroup/cpu.max", "re");
  if (!f) return 0;
  long quota = 0, period = 0;
  const int fields = std::fscanf(f, "%ld %ld", &quota, &period);  // "max 100000" gives no number
  std::fclose(f);
  return fields == 2 && quota > 0 && period > 0 ? static_cast<int>((quota + period - 1) / period) : 0;
}

// Idle polls, and yields, between two looks at what the launcher asks, where a rank never sleeps. A yield may last
// long.
constexpr std::uint32_t kPollsPerLook = 64 * 1024;
constexpr std::uint32_t kYieldsPerLook = 256;

}  // namespace

int usable_cpus(int machine_cpus) {
  int cpus = machine_cpus > 0 ? machine_cpus : static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN));
  if (const int own = os::allowed_cpus(); own > 1) cpus = own;
  if (const int quota = quota_cpus()) cpus = std::min(cpus, quota);
  return std::max(cpus, 1);
}

Result<void> Waiter::configure(const Config& config, int ranks, int machine_cpus) {
  cpus_ = usable_cpus(machine_cpus);
  crowded_ = ranks > cpus_;
  if (config.wait == "spin") {
    crowded_ = false;
    may_sleep_ = false;
  } else if (config.wait == "yield") {
    crowded_ = true;
    may_sleep_ = false;
  } else if (config.wait == "sleep") {
    budget_ns_ = 0;
    return {};
  } else if (config.wait != "auto") {
    return fail(Errc::config, fmt::format("RMQ_WAIT='{}' expects auto, spin, yield or sleep", config.wait));
  }
  budget_ns_ = crowded_ ? config.yield : config.spin;
  return {};
}

Waiter::Step Waiter::idle() {
  const Step cheap = crowded_ ? Step::yield : Step::spin;
  if (!may_sleep_) {
    if (idle_polls_++ % kPollsPerClock == 0) last_look_ns_ = os::now_ns();
    return idle_polls_ % (crowded_ ? kYieldsPerLook : kPollsPerLook) == 0 ? Step::look : cheap;
  }
  if (idle_polls_++ == 0) {
    idle_since_ns_ = last_look_ns_ = os::now_ns();
    return budget_ns_ ? cheap : Step::sleep;
  }
  // A yield is a system call anyway, so there the clock is read each time.
  if (!crowded_ && idle_polls_ % kPollsPerClock != 0) return cheap;
  last_look_ns_ = os::now_ns();
  const std::uint64_t idle_ns = last_look_ns_ - idle_since_ns_;
  if (idle_ns >= budget_ns_) return Step::sleep;
  return idle_ns < kSpinAloneNs ? cheap : Step::yield;
}

}  // namespace rmq::adi
