// SPDX-License-Identifier: BSD-3-Clause
// Which algorithm of each collective is the fastest here: rules for RMQ_COLL where the library's table does not choose
// it.
#pragma once

#include <string>
#include <vector>

#include "tools/perf/implementation.hpp"
#include "tools/perf/plan.hpp"

namespace rmq::perf {

struct TuneOptions {
  int ranks = 2;
  int rounds = 6;                        // of each algorithm; the best counts
  double sample_seconds = 0.005;         // of one batch in the benchmark
  std::vector<std::string> launch;       // further words for rmqrun: "--method", "tcp"; "--host-split", "4,4"
  int hosts = 1;                         // that those words make
  std::vector<std::string> collectives;  // names; none: all
};

struct Tuned {
  std::string table;  // for people: each size, what the library's table takes, the fastest, and by how much
  std::string rules;  // for rmqrun --coll: a word of RMQ_COLL a line
};

/// Runs the benchmark with each algorithm in turn. `rmq` has been compiled.
Result<Tuned> tune(const Implementation& rmq, const TuneOptions& options);

}  // namespace rmq::perf
