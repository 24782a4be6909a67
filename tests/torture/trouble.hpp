// SPDX-License-Identifier: BSD-3-Clause
// What happens to a rank while it runs its programs, from outside of MPI: connections that break, and stops.
#pragma once

#include <sys/types.h>

#include <memory>

#include "cuts/cutter.hpp"

namespace torture {

/// TORTURE_CUTS: microseconds between breaks of one of this process's TCP connections; TORTURE_STOPS: milliseconds
/// between SIGSTOPs of a few milliseconds each, on average.
class Trouble {
 public:
  /// Before MPI_Init: the process that stops this one is a child.
  Trouble();
  ~Trouble() { stop(); }
  Trouble(const Trouble&) = delete;
  Trouble& operator=(const Trouble&) = delete;

  /// After MPI_Init.
  void begin(unsigned long seed);
  void stop();

 private:
  pid_t stopper_ = 0;
  std::unique_ptr<rmq::test::CuttingThread> cutter_;
};

}  // namespace torture
