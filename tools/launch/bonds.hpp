// SPDX-License-Identifier: BSD-3-Clause
// Which jobs of a launcher end with which others: those that are connected, and those that a job has started and that
// have yet to connect with it. Jobs go by their numbers at the keeper.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>

namespace rmq::launch {

class Bonds {
 public:
  /// `parent` has started `child`. Until the two have connected a bad end of the parent is the child's, while the
  /// parent is told of the child's; so for ever, where they never do.
  void expect(int child, int parent) { parent_of_[child] = parent; }
  /// The parent that still waits for the child to connect, if it does.
  std::optional<int> awaited_by(int child) const;

  /// These jobs have connected, two or more at a time. All know the connection by this name, and each may tell of it.
  void tie(const std::string& name, const std::set<int>& jobs);
  /// They have parted: the first of all their ranks that says so counts.
  void untie(const std::string& name) { ties_.erase(name); }
  /// The same, but one side alone has come to know that they had connected, or not all of both do: members of the other
  /// one may still wait for that one's. `job` says so, which need not be one of the two: several may stand on one side.
  void set_adrift(const std::string& name, int job);
  bool has_adrift(int job) const { return adrift_.contains(job); }
  void forget(int job);

  /// The job and all that it is tied to, or these are, and so on.
  std::set<int> connected_with(int job) const;
  /// The same, also those that they expect.
  std::set<int> all_with(int job) const;

  /// Whether a bad end of `other` ends `job`.
  bool ends_with(int job, int other) const;

 private:
  std::set<int> reach(int job, bool expected) const;

  std::map<std::string, std::set<int>> ties_;
  std::set<int> adrift_;          // that may be waited for so
  std::map<int, int> parent_of_;  // of children that have not connected
};

}  // namespace rmq::launch
