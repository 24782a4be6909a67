// SPDX-License-Identifier: BSD-3-Clause
// What a rank tells about itself. Three ways lead here:
//
//   a call waits      it looks at the launcher's socket when it wakes up, or now and then while it may not sleep
//   a call tests      now and then, while the program does nothing but test (adi/idle_tests.hpp)
//   neither           the agent of windows where there is one; else the launcher's signal interrupts the program
//
// So nothing is paid where messages come and go: an MPI call stores its name, and what it waits for is only noted by
// polls that find nothing to do.
#pragma once

#include <memory>
#include <string_view>

#include "adi/idle_tests.hpp"
#include "adi/losses.hpp"
#include "adi/report.hpp"

namespace rmq::adi {

class Reporting : public Losses {
 public:
  /// Adds fields of the layer above to each report; called as Awaited::tell is. nullptr: none.
  void add_to_reports(void (*more)(ReportText& to)) { more_to_tell_ = more; }
  /// In a signal handler: the launcher asks, and no call has answered. `alone`: no other thread can be in the device
  /// unless threads are enabled.
  void on_interrupt(bool alone);

 protected:
  Reporting(DeviceOptions& options, Bootstrap& bootstrap);

  /// Looks at the launcher's socket, and answers what it asks, as one that is doing this; and hears of deaths.
  void look(Doing doing);
  /// What the rank does, as those see it who find the program outside of MPI.
  Doing doing() const;

  IdleTests idle_tests_;  // non-blocking polls

 private:
  static std::string_view on_ask(void* device, bool all);
  std::string_view report(Doing doing, bool all);
  bool may_wait_elsewhere() const;
  void tell_foreigners(ReportText& to) const;
  void tell_others(ReportText& to) const;
  void tell_queues(ReportText& to) const;
  void tell_peers(ReportText& to) const;

  Doing looking_as_ = Doing::busy;  // what we are in while we look at the launcher's socket
  void (*more_to_tell_)(ReportText&) = nullptr;
  std::unique_ptr<char[]> report_memory_;  // max_report bytes
};

}  // namespace rmq::adi
