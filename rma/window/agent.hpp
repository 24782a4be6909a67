// SPDX-License-Identifier: BSD-3-Clause
// The agent: a thread that serves this rank's windows by packets while the program computes. It exists only as long as
// some window needs it; while it does, calls of the program lock the device. Where the system gives no thread, windows
// are served in calls of the program only, which MPI allows.
#pragma once

#include <memory>
#include <thread>

#include "adi/device.hpp"

namespace rmq::rma {

class Agent {
 public:
  /// Needs the device held.
  explicit Agent(adi::Device& device);
  /// Needs the device held; gives it away until the thread has ended.
  ~Agent();
  Agent(const Agent&) = delete;
  Agent& operator=(const Agent&) = delete;

 private:
  adi::Device& device_;
  const bool enabled_;  // threads, for it alone
  Atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace rmq::rma
