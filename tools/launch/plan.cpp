#include "tools/launch/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "base/bootstrap_env.hpp"
#include "tools/launch/env.hpp"

namespace rmq::launch {

namespace {

// Where the user does not say: a CPU each, and where the job itself takes these, as many processes again, which share
// them (waiting costs nothing here). Programs that spawn ask for this number.
int slots(const Options& options, int ranks) {
  if (options.universe_size > 0) return std::max(options.universe_size, ranks);
  return std::max(2 * ranks, static_cast<int>(std::thread::hardware_concurrency()));
}

}  // namespace

JobPlan plan_job(const Options& options) {
  JobPlan plan;
  plan.job = boot::singleton_job();
  plan.job.size = options.size();
  plan.job.host_of_rank = Hosts(options.host_of_rank);
  plan.job.universe_size = slots(options, plan.job.size);
  plan.job.ft = options.ft;
  plan.bind = options.bind;
  plan.pmi = options.pmi;
  plan.pretended = !plan.job.host_of_rank.is_one();
  const int hosts = 1 + *std::max_element(options.host_of_rank.begin(), options.host_of_rank.end());
  for (int host = 0; host < hosts; ++host)
    plan.hosts.push_back(plan.pretended ? fmt::format("{}-{}", plan.job.host_name, host) : plan.job.host_name);
  const std::string prefix = install_prefix(1);
  for (const App& app : options.apps)
    plan.sections.push_back({app.ranks, app.command, app.folder, job_environment(options, app, plan.job, prefix)});
  return plan;
}

}  // namespace rmq::launch
