// SPDX-License-Identifier: BSD-3-Clause
// From what MPI_Comm_spawn asks for (mpi/dynamic/spawn.cpp) to the plan of a further job.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "tools/launch/plan.hpp"

namespace rmq::launch {

/// Ranks that run on each host, by its name.
using Busy = std::map<std::string, int>;

/// The job that `wish` describes, of a rank of `parent`. Info keys: host, hostfile (where; else in slots that are not
/// busy, and then on all hosts in turn), wdir, path (where to look for the program first), env (NAME=VALUE lines), soft
/// (how many will do), arch, file (more keys, as KEY=VALUE lines); those of rmq/spawn.hpp. Others are not looked at.
/// Errc::argument names the key, its value and the remedy.
Result<JobPlan> plan_spawn(const nlohmann::json& wish, const JobPlan& parent, int parent_rank, Busy busy);

}  // namespace rmq::launch
