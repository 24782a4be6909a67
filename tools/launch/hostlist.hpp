// Lists of hosts as users and batch systems write them, and which rank goes where.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"

namespace rmq::launch {

struct HostSlots {
  std::string name;
  int slots = 1;  // ranks that are meant for it
};
using HostList = std::vector<HostSlots>;

/// Adds it, or its slots where the name is there already.
void add_host(HostList& list, HostSlots host);

/// "a:2,b,n[1-3,07]:4". Errc::argument names the part that is wrong.
Result<HostList> parse_host_list(std::string_view text);

/// A line for each, or for a range of them: a name, "a:2", "a slots=2" or "a 2"; more words are ignored, as is what
/// follows '#'. A name that stands twice has the slots of both. Errc::argument: unreadable, or no host in it, or which
/// line is wrong.
Result<HostList> read_host_file(const std::string& path);

/// SLURM_JOB_NODELIST ("n[1-3,07],m") with SLURM_TASKS_PER_NODE ("2(x3),1"; empty: 1 each).
Result<HostList> read_slurm(std::string_view nodes, std::string_view tasks_per_node);

/// The host of each of so many ranks: all slots of one host after the other, or in turn a rank each; from the beginning
/// again where ranks are left.
std::vector<int> place_ranks(const HostList& hosts, int ranks, bool in_turn);

}  // namespace rmq::launch
