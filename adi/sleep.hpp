// SPDX-License-Identifier: BSD-3-Clause
// How a call sleeps: it announces that to all who may end its wait, looks once more, and waits for a ring. And how the
// agent, which sleeps as well, is woken.
#pragma once

#include <cstdint>

#include "adi/reporting.hpp"
#include "base/os/atomic.hpp"

namespace rmq::adi {

class Sleep : public Reporting {
 public:
  /// Whether extensions get a turn in each turn of the dispatch loop. An agent that sleeps wakes for the first of them.
  void want_turns(bool want) {
    set_wants_turns(want);
    if (want) wake_agent();
  }
  void rouse_agent();

 protected:
  Sleep(DeviceOptions& options, Bootstrap& bootstrap)
      : Reporting(options, bootstrap), sleep_for_ever_(options.sleep_for_ever) {}

  /// One sleep of a call that waits.
  void sleep();
  /// Announces a sleep; false: there is something to do after all. disarm() takes the announcement back.
  bool arm();
  void disarm();
  void wake_agent();
  /// The agent sleeps until it is woken, armed, or for a while (`sleep_ns`); with the device given away.
  void sleep_as_agent(std::int64_t sleep_ns);

  Atomic<bool> agent_sleeps_{false};     // set with the device held; the agent itself clears it, without
  Atomic<std::uint32_t> agent_naps_{0};  // 1: for long; as above, or cleared by who ends that

 private:
  void sleep_beside();
  void call_off();
  void end_agents_nap();

  const bool sleep_for_ever_;
  std::uint64_t sleepless_ = 0;  // turns of sleep() that could not sleep
  std::uint64_t answers_ = 0;    // of the bootstrap, at the last attempt of the program to sleep
};

}  // namespace rmq::adi
