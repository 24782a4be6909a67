// SPDX-License-Identifier: BSD-3-Clause
// Which host each rank of the job runs on: runs of neighbours, which copies share, and which may repeat. Memory for the
// hosts, not for the ranks, where ranks are dealt out in blocks or in turn.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/ranks.hpp"

namespace rmq {

class Hosts {
 public:
  /// Ranks [first, the next run's first) are on `host`.
  struct Run {
    int first, host;
    bool operator==(const Run&) const = default;
  };

  /// One rank, on host 0.
  Hosts() : Hosts({{{0, 0}}}, 1, 1) {}
  /// Host index (0, 1, …) of each rank; at least one.
  explicit Hosts(std::span<const int> host_of_rank);
  /// `ranks` ranks, `a_host` on each host (fewer on the last).
  static Hosts blocks(int ranks, int a_host);
  /// The runs of the first `period` ranks, which all further ones repeat. Nothing unless the first run begins at 0,
  /// each has a rank below the period, which is at most `size`, and all hosts from 0 to the highest occur.
  static std::optional<Hosts> of_runs(std::vector<Run> runs, int period, int size);

  int size() const { return size_; }
  /// Logarithmic in the number of runs; constant where ranks are dealt out in blocks of one length.
  int operator[](int rank) const {
    const std::vector<Run>& runs = *runs_;
    if (length_ != 0) return runs[static_cast<std::size_t>(rank / length_)].host;
    return search(rank);
  }
  bool same(int a, int b) const { return (*this)[a] == (*this)[b]; }
  bool is_one() const { return runs_->size() == 1; }
  /// Number of hosts.
  int hosts() const;
  /// Ranks of that host in front of `before`.
  int count(int host, int before) const;
  /// Which of these ranks are on that host: their places, in order. Takes time for the hosts and the ranks of one of
  /// them, where `members` follow a rule.
  Ranks places_on(int host, const Ranks& members) const;
  /// Of the first period() ranks.
  std::span<const Run> runs() const { return *runs_; }
  /// After so many ranks the runs repeat; size() where they do not.
  int period() const { return period_; }
  bool operator==(const Hosts& other) const {
    return size_ == other.size_ && period_ == other.period_ && *runs_ == *other.runs_;
  }

 private:
  Hosts(std::vector<Run> runs, int period, int size);
  int search(int rank) const;
  int end_of(std::size_t run) const { return run + 1 < runs_->size() ? (*runs_)[run + 1].first : period_; }

  std::shared_ptr<const std::vector<Run>> runs_;
  int size_, period_;
  int length_;  // of each run but the last, which is no longer; 0: they differ, or repeat
};

}  // namespace rmq
