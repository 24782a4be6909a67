// SPDX-License-Identifier: BSD-3-Clause
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
  int most = 0;   // ranks that it may have where more are started than there are slots; 0: any number
  bool operator==(const HostSlots&) const = default;
};
using HostList = std::vector<HostSlots>;

/// Adds it, or its slots where the name is there already.
void add_host(HostList& list, HostSlots host);

/// "a:2,b,n[1-3,07]:4,[fd00::1]:2". Errc::argument names the part that is wrong.
Result<HostList> parse_host_list(std::string_view text);

/// A line for each, or for a range of them: a name, "a:2", "a 2" or "a slots=2 max_slots=4", with blanks around '=' or
/// without. What follows '#' is a comment. A name that stands twice has the slots of both. Words that mean nothing here
/// are named in one line that is added to `notes`. Errc::argument: unreadable, or no host in it, or which line is
/// wrong. May wait, as for a FIFO's writer; `text` is what somebody has read of the file already.
Result<HostList> read_host_file(const std::string& path, std::vector<std::string>& notes);
Result<HostList> read_host_text(const std::string& text, const std::string& path, std::vector<std::string>& notes);

/// SLURM_JOB_NODELIST ("n[1-3,07],m") with SLURM_TASKS_PER_NODE ("2(x3),1"; empty: 1 each).
Result<HostList> read_slurm(std::string_view nodes, std::string_view tasks_per_node);

/// The host of each of so many ranks: all slots of one host after the other, or in turn a rank each; from the beginning
/// again where ranks are left. Fewer than `ranks` when every host has as many as it may have.
std::vector<int> place_ranks(const HostList& hosts, int ranks, bool in_turn);

}  // namespace rmq::launch
