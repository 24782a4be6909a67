// SPDX-License-Identifier: BSD-3-Clause
#include "adi/idle_tests.hpp"

#include <ctime>

#include "base/os/clock.hpp"

namespace rmq::adi {
namespace {

constexpr std::uint64_t kIdlePeriodNs = 10'000'000;
// Tests between two looks at the clock, which costs about as much as a test, while they follow each other closely; …
constexpr std::uint32_t kTestsToClock = 16;
// … if so many take longer than this the program sleeps or computes between them, and each looks.
constexpr std::uint64_t kRareNs = 1'000'000;
// Of all the time, and in one test: a program that uses more of the CPUs computes. Its threads, and the agent of
// windows, count, and take a little.
constexpr std::uint64_t kIdleShare = 8;
constexpr std::uint64_t kTestCpuNs = 100'000;
// In periods: how long it may be silent before it does something else, such as to wait for a file.
constexpr std::uint64_t kSilentPeriods = 8;

std::uint64_t process_cpu_ns() {
  return os::read_ns(CLOCK_PROCESS_CPUTIME_ID);
}

}  // namespace

bool IdleTests::has_idled() {
  const std::uint64_t now = os::now_ns();
  to_clock_ = now - clock_ns_ > kRareNs ? 1 : kTestsToClock;
  clock_ns_ = now;
  const bool in_a_row = count_ > first_ && first_ > 0;
  const std::uint64_t period = now - since_ns_;
  if (in_a_row && period < kIdlePeriodNs) return false;
  const std::uint64_t cpu = process_cpu_ns(), used = cpu - cpu_ns_;
  const bool idle = in_a_row && (used < period / kIdleShare || used / (count_ - first_) < kTestCpuNs);
  first_ = count_;
  since_ns_ = now;
  cpu_ns_ = cpu;
  period_ns_ = idle ? period : 0;
  return idle;
}

bool IdleTests::keep_on() const {
  if (period_ns_ == 0 || count_ < first_) return false;
  const std::uint64_t elapsed = os::now_ns() - since_ns_;
  return elapsed < kSilentPeriods * period_ns_ && process_cpu_ns() - cpu_ns_ < kTestCpuNs + elapsed / kIdleShare;
}

}  // namespace rmq::adi
