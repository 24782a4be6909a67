// SPDX-License-Identifier: BSD-3-Clause
// What a job is to be: all that a starter needs to know of it.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "start/bootstrap.hpp"
#include "tools/launch/options.hpp"
#include "tools/process/spawn.hpp"

namespace rmq::launch {

/// The same program in so many ranks.
struct Section {
  int ranks = 1;
  std::vector<std::string> command;  // program, as the user wrote it, and its arguments
  std::string folder;                // working folder; empty: the launcher's
  Environment environment;           // whole, but for what only one rank knows (tools/launch/env.hpp)
  std::vector<std::string> named;    // of its variables, those that the user has set: they hold on all hosts
};

/// What one process has for itself. Paths: of files, FIFOs or descriptors; empty: as the others.
struct Extras {
  Variables environment;
  std::string input, output, error;
};

struct JobPlan {
  JobInfo job;                     // id, secret, size, hosts; those of no rank in particular
  std::vector<Section> sections;   // whose ranks follow each other
  std::vector<std::string> hosts;  // name of each host
  HostList universe;               // where more may be started, and how many: of the launcher alone
  std::vector<bool> here;          // by host: it is the launcher's own, where no agent is needed
  bool takes_input = false;        // rank 0 has the launcher's standard input
  bool pretended = false;          // all hosts are this machine (--host-split)
  Binding binding;
  bool pmi = false;                // ranks of another MPI's library (tools/launch/pmi.hpp)
  std::map<int, Extras> extras;    // by rank; most have none
  std::vector<std::string> notes;  // lines for the user about it, of the launcher alone
  int ranks_on_machine(int host) const { return pretended ? job.size : job.host_of_rank.count(host, job.size); }
};

/// A fresh job, with id and secret of its own.
JobPlan plan_job(const Options& options);

/// A plan as an agent is told it, secret and all, and back. Errc::protocol.
std::string plan_text(const JobPlan& plan);
Result<JobPlan> read_plan(std::string_view text);

/// Whether a name of the user's means the host that this process runs on.
bool is_this_host(std::string_view name);

}  // namespace rmq::launch
