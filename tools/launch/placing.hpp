// SPDX-License-Identifier: BSD-3-Clause
// Where the ranks of a command line go, and how many there are where it does not say: hosts that it names, pretends, or
// is allocated.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tools/launch/hostlist.hpp"
#include "tools/launch/options.hpp"

namespace rmq::launch {

class Placing {
 public:
  // What the options say; `word` is the option as it was written. Errc::argument names it and the remedy.

  /// --host-split
  void pretend(const std::string& parts);
  /// -ppn
  Result<void> set_per_host(const std::string& value, std::string_view word);
  /// --map-by, --rank-by
  Result<void> map_by(const std::string& value, std::string_view word, Options& out);
  /// --hosts, --hostfile: added to those that this section has named already in the same way; both at once are refused.
  enum class Source { list, file };
  Result<void> take_hosts(Result<HostList> list, Source source, std::string_view word, const std::string& value);
  /// The options of one section have been read: the next hosts are the next section's.
  void end_section() { named_.emplace_back(std::move(of_section_)), of_section_.clear(); }

  // When all options have been read:

  /// Counts the ranks of a program without -n: of one that is alone, or that has hosts of its own.
  Result<void> count_ranks(const Defaults& defaults, Options& out);
  /// Places all `size` of them.
  Result<void> place(int size, Options& out);

 private:
  Result<HostList> find_allocation(const Defaults& defaults, Options& out);
  Result<void> find_pools(const Defaults& defaults, Options& out);
  Result<void> place_on_hosts(int size, Options& out);

  std::string split_;
  std::optional<int> per_host_;    // -ppn
  std::string per_host_word_;      // as it was written
  bool counts_ranks_here_ = true;  // without -n, as -ppn does and ppr:N:node does not
  bool in_turn_ = false;           // --map-by node
  std::string placing_word_;       // as it was written
  HostList of_section_;            // that the section under way has named so far
  Source source_ = Source::list;   // of these
  std::vector<HostList> named_;    // by section: that it names; empty where it names none
  std::string hosts_word_;         // the last option that names hosts, as it was written
  std::vector<HostList> pools_;    // hosts that one section or several fill one after the other; none: this machine
  std::vector<std::size_t> pool_;  // of each section
};

}  // namespace rmq::launch
