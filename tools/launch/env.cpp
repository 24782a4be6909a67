// SPDX-License-Identifier: BSD-3-Clause
#include "tools/launch/env.hpp"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "start/bootstrap_env.hpp"

namespace rmq::launch {

namespace {

// The folders of our libraries before whatever the user has there. An empty entry would mean the working folder, so
// none is ever added.
std::string library_path(const std::string& prefix, const std::string& users) {
  std::string out;
  for (const std::string& folder : {prefix + "/lib/rmq/mpich-abi", prefix + "/lib"}) {
    if (::access(folder.c_str(), F_OK) != 0) continue;
    out += (out.empty() ? "" : ":") + folder;
  }
  if (users.empty() || out.empty()) return out.empty() ? users : out;
  if (users == out || users.starts_with(out + ":")) return users;  // a launcher within a launcher
  return out + ":" + users;
}

}  // namespace

std::string install_prefix(int depth) {
  std::error_code error;
  std::filesystem::path path = std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
  for (; depth > 0; --depth) path = path.parent_path();
  return path.string();
}

Environment job_environment(const Options& options, const App& app, const JobInfo& job, const std::string& prefix) {
  Environment out = Environment::inherited();
  for (const auto& [name, value] : options.environment) out.set(name, value);
  for (const auto& [name, value] : app.environment) out.set(name, value);
  if (!app.path.empty()) out.set("PATH", app.path + ":" + out.get("PATH"));
  if (options.pmi) {  // their own library, and nothing of ours
    out.unset_matching(
        [](std::string_view name) { return is_foreign_launcher_variable(name) || name == "RMQ_SERVER"; });
    out.set("RMQ_JOB", job.job);  // by which the launcher knows its own
    return out;
  }
  if (const std::string path = library_path(prefix, out.get("LD_LIBRARY_PATH")); !path.empty())
    out.set("LD_LIBRARY_PATH", path);
  if (!options.methods.empty()) out.set("RMQ_METHODS", options.methods);
  if (!options.trace.empty()) out.set("RMQ_TRACE", options.trace);
  // What the user says with a variable comes first.
  if (!options.coll.empty()) {
    const std::string own = out.get("RMQ_COLL");
    out.set("RMQ_COLL", own.empty() ? options.coll : own + "," + options.coll);
  }
  if (!options.sets.empty()) {
    const std::string own = out.get("RMQ_PSETS");
    out.set("RMQ_PSETS", own.empty() ? options.sets : own + ";" + options.sets);
  }
  if (!options.trace_max.empty()) out.set("RMQ_TRACE_MAX", options.trace_max);
  // Hosts that are pretended are one machine, on which nobody else has to be able to call.
  if (options.hosts.empty() && options.host_of_rank.back() > 0 && out.get("RMQ_TCP_INTERFACE").empty())
    out.set("RMQ_TCP_INTERFACE", "lo");
  out.unset_matching([](std::string_view name) { return name == "RMQ_WISHES"; });  // of a rank that started us
  out.set("RMQ_JOB", job.job);
  out.set("RMQ_SIZE", std::to_string(job.size));
  out.set("RMQ_HOSTS", std::to_string(job.host_of_rank.hosts()));
  out.set("RMQ_SECRET", boot::to_hex(job.secret));
  out.set("RMQ_UNIVERSE_SIZE", std::to_string(job.universe_size));
  out.set("RMQ_FT", job.ft ? "1" : "0");
  return out;
}

void set_rank(Environment& environment, const RankFacts& facts) {
  environment.set("RMQ_RANK", std::to_string(facts.rank));
  environment.set("RMQ_APPNUM", std::to_string(facts.app_num));
  environment.set("RMQ_SERVER", "fd:" + std::to_string(facts.server_fd));
  environment.set("RMQ_HOST_NAME", facts.host_name);
  environment.set("RMQ_MACHINE_SIZE", std::to_string(facts.machine_size));
  environment.unset_matching([](std::string_view name) { return name == "RMQ_MACHINE_CPUS"; });
  if (facts.machine_cpus > 0) environment.set("RMQ_MACHINE_CPUS", std::to_string(facts.machine_cpus));
}

bool is_foreign_launcher_variable(std::string_view name) {
  for (const std::string_view start :
       {"PMI_", "PMI2_", "PMIX_", "PRTE_", "OMPI_COMM_WORLD_", "OMPI_UNIVERSE_SIZE", "OMPI_APP_CTX", "OMPI_FIRST_RANKS",
        "OMPI_NUM_APP_CTX", "OMPI_FILE_LOCATION", "OMPI_MCA_orte_", "OMPI_MCA_ess", "OMPI_MCA_pmix", "OMPI_COMMAND",
        "OMPI_ARGV", "HYDI_", "HYDRA_", "MPI_LOCALNRANKS", "MPI_LOCALRANKID"})
    if (name.starts_with(start)) return true;
  return false;
}

}  // namespace rmq::launch
