// Where the ranks of a command line go, and how many there are where it does not say: hosts that it names, pretends, or
// is allocated.
#pragma once

#include <optional>
#include <string>
#include <string_view>

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
  /// --hosts, --hostfile: added to those that are named already.
  Result<void> take_hosts(Result<HostList> list, std::string_view word, const std::string& value);

  // When all options have been read:

  /// Counts the ranks of a single program without -n.
  Result<void> count_ranks(const Defaults& defaults, Options& out);
  /// Places all `size` of them.
  Result<void> place(int size, Options& out);

 private:
  Result<void> find_allocation(const Defaults& defaults, Options& out);
  Result<void> place_on_hosts(int size, Options& out);

  std::string split_;
  std::optional<int> per_host_;    // -ppn
  std::string per_host_word_;      // as it was written
  bool counts_ranks_here_ = true;  // without -n, as -ppn does and ppr:N:node does not
  bool in_turn_ = false;           // --map-by node
  std::string placing_word_;       // as it was written
  HostList hosts_;                 // of all options that name some
  std::string hosts_word_;         // the last of them, as it was written
};

}  // namespace rmq::launch
