// SPDX-License-Identifier: BSD-3-Clause
// What is measured: the rows of the table, gathered into runs of the benchmark.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "tools/perf/implementation.hpp"
#include "tools/perf/turns.hpp"

namespace rmq::perf {

/// One run of the benchmark.
struct Job {
  int ranks;
  std::string transport;
  std::string metrics;  // as bench takes them: "latency:8,rate:8"; empty: an empty program, for its start-up time
};

struct Options {
  bool quick = false;            // leave out what takes long and is derived from the rest
  bool rma = false;              // remote memory access instead of messages
  bool shmem = false;            // OpenSHMEM instead, beside MPI's windows
  std::vector<int> collectives;  // collectives instead, with so many ranks each; also on two pretended hosts
  int rounds = 5;                // of each job and implementation, in turn
  double sample_seconds = 0.02;  // of one batch in the benchmark
  int cpus = 2;
};

/// A job for each metric: a short run lies in one phase of the machine more often, and where a peer crashes or hangs,
/// only that row lacks it.
std::vector<Job> plan(const Options& options);

/// Runs jobs of one implementation and one of its ways. A run that fails or hangs is named on stderr, and left out of
/// this job from then on; so is RMQ's.
class Runner {
 public:
  /// Outlived by `options`.
  explicit Runner(const Options& options) : options_(options) {}
  /// What the run printed; nothing where it is left out.
  Reading run(const Job& job, const Implementation& impl, std::size_t way);

 private:
  const Options& options_;
  std::set<std::string> given_up_;
};

/// Runs each job of all implementations in turn, each at its best setting, and calls `on_row` for each row as soon as
/// it is complete. `options.rounds` pairs of RMQ and each peer are wanted, in one phase of the machine each
/// (turns.hpp).
Table measure(const std::vector<Job>& jobs, const std::vector<Implementation>& all, const Options& options,
              const std::function<void(const Row&, const Turns&)>& on_row);

/// The table for people: its head, a line for a row, and what stands below.
std::string table_head(const std::vector<Implementation>& all);
std::string table_line(const Row& row, const Turns& turns, const std::vector<Implementation>& all);
std::string table_foot();
/// The rows as JSON (an array; design/tools.md).
std::string json(const Table& table);

}  // namespace rmq::perf
