// SPDX-License-Identifier: BSD-3-Clause
// The environment of a rank: the launcher's own, what the command line sets, and the variables of
// start/bootstrap_env.hpp.
#pragma once

#include <string>
#include <string_view>

#include "start/bootstrap.hpp"
#include "tools/launch/options.hpp"
#include "tools/process/spawn.hpp"

namespace rmq::launch {

/// The folder that bin/ of this installation (or build tree) lies in, from /proc/self/exe; `depth` is how many folders
/// the running program lies below it: 1 for bin/, 2 for libexec/rmq/.
std::string install_prefix(int depth);

/// What all ranks of one section share: command line, library path (the MPICH alias folder of `prefix` first), the job.
Environment job_environment(const Options& options, const App& app, const JobInfo& job, const std::string& prefix);

/// Adds what only this rank knows to a job_environment.
struct RankFacts {
  int rank;
  int app_num;    // which section of the command line
  int server_fd;  // the socket that it inherits
  std::string host_name;
  int machine_size;  // ranks on its machine, whatever hosts they pretend to be on
  int machine_cpus;  // CPUs that these have together; 0: not known
};
void set_rank(Environment& environment, const RankFacts& facts);

/// Variables by which other launchers tell a process who it is; they would mislead programs that a rank starts.
bool is_foreign_launcher_variable(std::string_view name);

}  // namespace rmq::launch
