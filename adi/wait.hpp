// SPDX-License-Identifier: BSD-3-Clause
// How an idle rank waits: it polls while each rank of the host has a core, yields when ranks outnumber CPUs, and then
// sleeps on the doorbell. The budgets come from the configuration; what each step costs on a given machine decides
// them.
#pragma once

#include <cstdint>

#include "base/config.hpp"
#include "base/error.hpp"

namespace rmq::adi {

class Waiter {
 public:
  /// What to do about one more poll that found nothing.
  enum class Step : std::uint8_t { spin, yield, sleep, look };  // look: now and then where it may not sleep

  Waiter() = default;
  /// Decides by `ranks`, which share the CPUs of this machine; `machine_cpus` as in usable_cpus(). Errc::config when
  /// RMQ_WAIT is none of its values.
  Result<void> configure(const Config& config, int ranks, int machine_cpus);

  /// Something happened: start again from the cheapest step.
  void busy() { idle_polls_ = 0; }

  /// Nothing happened: what now? Reads the clock only now and then.
  Step idle();

  /// When idle() last read the clock; CLOCK_MONOTONIC.
  std::uint64_t last_look_ns() const { return last_look_ns_; }
  /// How long nothing has happened, as of then.
  std::uint64_t idle_ns() const { return last_look_ns_ - idle_since_ns_; }

  /// Whether ranks outnumber CPUs.
  bool crowded() const { return crowded_; }
  int cpus() const { return cpus_; }

 private:
  std::uint32_t idle_polls_ = 0;
  bool crowded_ = false;
  bool may_sleep_ = true;
  int cpus_ = 1;
  std::uint64_t budget_ns_ = 0;
  std::uint64_t idle_since_ns_ = 0;
  std::uint64_t last_look_ns_ = 0;
};

/// CPUs that the ranks of this machine may use together, within the cgroup's quota; at least 1: those that this process
/// may use. One that may use a single CPU is most often bound, as others are elsewhere: then those that the launcher
/// may use, which says so (`machine_cpus`, JobInfo), or, where it does not (0), all of the machine.
int usable_cpus(int machine_cpus);

}  // namespace rmq::adi
