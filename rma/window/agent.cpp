// SPDX-License-Identifier: BSD-3-Clause
#include "rma/window/agent.hpp"

#include <csignal>
#include <cstdio>
#include <system_error>

namespace rmq::rma {

Agent::Agent(adi::Device& device) : device_(device), enabled_(!device.threads()) {
  if (enabled_) device_.enable_threads();
  // The program's signals are for the program's threads.
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    thread_ = std::thread([this] { device_.serve(stop_); });
  } catch (const std::system_error& e) {
    std::fprintf(stderr,
                 "rmq: rank %d has no thread to serve its windows (%s): what others ask of them waits until the rank "
                 "calls MPI; allow it more memory or threads (ulimit -v, ulimit -u)\n",
                 device_.rank(), e.what());
    if (enabled_) device_.disable_threads();
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

Agent::~Agent() {
  if (!thread_.joinable()) return;
  stop_.store(true, std::memory_order_relaxed);  // the device is held
  device_.rouse_agent();
  {
    const adi::Device::Absence absence(device_);
    thread_.join();
  }
  if (enabled_) device_.disable_threads();
}

}  // namespace rmq::rma
