// What is measured: the rows of the table, gathered into runs of the benchmark.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "tools/perf/implementation.hpp"

namespace rmq::perf {

/// One run of the benchmark: several metrics by the same ranks.
struct Job {
  int ranks;
  std::string transport;
  std::string metrics;  // as bench takes them: "latency:8,rate:8"; empty: an empty program, for its start-up time
};

/// What identifies a figure, apart from the implementation.
struct Row {
  std::string metric;
  long size;  // bytes; for match, the number of receives that are posted in vain
  int ranks;
  std::string transport;
  auto operator<=>(const Row&) const = default;
};

std::string unit_of(const std::string& metric);
bool higher_is_better(const std::string& metric);

struct Options {
  bool quick = false;            // leave out what takes long and is derived from the rest
  bool rma = false;              // remote memory access instead of messages
  bool shmem = false;            // OpenSHMEM instead, beside MPI's windows
  std::vector<int> collectives;  // collectives instead, with so many ranks each; also on two pretended hosts
  int rounds = 5;                // of each job and implementation, in turn
  double sample_seconds = 0.02;  // of one batch in the benchmark
  int cpus = 2;
};

std::vector<Job> plan(const Options& options);

/// Samples by row and implementation, and those of one round.
using Samples = std::map<Row, std::map<std::string, std::vector<double>>>;
using Figures = std::map<Row, std::map<std::string, double>>;

/// Runs jobs, implementations in turn, each at its best setting. One that fails or hangs is named on stderr and left
/// out of this job from then on; so is RMQ.
class Runner {
 public:
  /// Both outlive it.
  Runner(const std::vector<Implementation>& all, const Options& options) : all_(all), options_(options) {}
  Figures run(const Job& job);

 private:
  const std::vector<Implementation>& all_;
  const Options& options_;
  std::set<std::string> given_up_;
};

/// The machine's phases. Before and after each round it is asked how fast it is at the moment (line_us()): a round in a
/// slow phase, by the fastest seen, is set aside and another one made, as many more at most; the fastest ones count.
class Phases {
 public:
  Phases();
  /// Adds so many rounds to the samples. The first error of a round ends it.
  Result<void> repeat(int rounds, const std::function<Result<Figures>()>& round, Samples& samples);

 private:
  double line_, fastest_;  // us: the latest cache line, the fastest one
};

/// Runs each job `options.rounds` times in one phase.
Samples measure(const std::vector<Job>& jobs, const std::vector<Implementation>& all, const Options& options);

double median(std::vector<double> values);
/// "median (least-most)" of an implementation's samples; "-" where there are none.
std::string cell(const std::map<std::string, std::vector<double>>& by_impl, const std::string& impl);
/// The table, a column for each implementation, and the rows as JSON (an array; see the README).
std::string table(const Samples& samples, const std::vector<Implementation>& all);
std::string json(const Samples& samples);

}  // namespace rmq::perf
