// SPDX-License-Identifier: BSD-3-Clause
// What links cost here, for rmqsim; and how far what rmqsim then says is from what real ranks take.
#pragma once

#include <string>
#include <vector>

#include "methods/simulated.hpp"
#include "tools/perf/implementation.hpp"

namespace rmq::perf {

struct CalibrateOptions {
  int rounds = 3;                // of everything, in turn; medians count
  double sample_seconds = 0.01;  // of one batch in the benchmark
  int cpus = 2;
  bool check = false;  // also run patterns on up to so many real ranks, and simulate them
  int most = 64;
  std::string folder;  // for files in between
};

struct Calibrated {
  methods::SimCost cost;
  std::string table;  // with `check`: each pattern and shape, real and simulated, and the median of the errors
};

/// Runs the benchmark, and with `check` rmqsim, which lies beside rmqrun. `rmq` has been compiled. Errc::system.
Result<Calibrated> calibrate(const Implementation& rmq, const CalibrateOptions& options);

}  // namespace rmq::perf
