// SPDX-License-Identifier: BSD-3-Clause
// Figures of several programs that are measured in turn, on a machine that is fast at one moment and slow at the next.
//
// A virtual machine may be several times slower for a second, or for minutes. Medians of samples that were taken in
// turn then compare one program's slow moments with another's fast ones. So the machine is asked how fast it is right
// before and right after each sample, and only samples of one phase are compared with each other.
#pragma once

#include <compare>
#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace rmq::perf {

/// What identifies a figure, apart from who was measured.
struct Row {
  std::string metric;
  long size;  // bytes; for match, the number of receives that are posted in vain
  int ranks;
  std::string transport;
  auto operator<=>(const Row&) const = default;
};

std::string unit_of(const std::string& metric);
bool higher_is_better(const std::string& metric);

/// The figures of one run.
using Reading = std::map<Row, double>;

double median(std::vector<double> values);

struct Sample {
  double value;   // in the row's unit
  double before;  // us that a cache line took from one CPU to another right before the run
  double after;   // and right after it
};

/// The samples of one row: of each name at most one a round.
class Turns {
 public:
  explicit Turns(bool higher_is_better) : higher_(higher_is_better) {}

  /// Of several samples of a name in a round the best one counts: the ways of an implementation.
  void add(const std::string& name, std::size_t round, const Sample& sample);

  std::vector<std::string> names() const;
  std::size_t rounds_of(const std::string& name) const;

  /// Values taken in the machine's fastest phase, by all samples of the row; where there is none, all values. Empty for
  /// a name that has no samples.
  std::vector<double> values(const std::string& name) const;

  /// How many times better `ours` is than `theirs` in each round in which the machine was in one phase from before the
  /// first of the two samples to after the second one, as far as the probes say.
  std::vector<double> advantages(const std::string& ours, const std::string& theirs) const;

 private:
  bool higher_;
  std::map<std::string, std::map<std::size_t, Sample>> by_name_;
};

using Table = std::map<Row, Turns>;

/// One who takes part: a run takes some tenths of a second, or a few seconds.
struct Contestant {
  std::string name;
  std::function<Reading()> run;
};

/// Runs all of them in turn, in the opposite order every other round, until the first one has `rounds` samples that can
/// be compared with each of the others (alone: `rounds` samples in the fastest phase) in every row, but three times as
/// many rounds at most. `probe` tells how fast the machine is at the moment: us that a cache line takes.
Table take_turns(const std::vector<Contestant>& all, std::size_t rounds, const std::function<double()>& probe);

/// "median (least-most)" of a name's values; "-" where there are none.
std::string cell(const Turns& turns, const std::string& name);

}  // namespace rmq::perf
