// SPDX-License-Identifier: BSD-3-Clause
#include "tools/perf/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <sstream>
#include <utility>

#include "tools/perf/limits.hpp"

namespace rmq::perf {
namespace {

constexpr const char* kPairShm =
    "latency:8,latency:1024,latency:8192,latency:65536,latency:4194304,rate:8,bandwidth:8192,bandwidth:65536,"
    "bandwidth:4194304,bibandwidth:65536,bibandwidth:4194304,match:1,match:10000,overlap:1048576,barrier,allreduce:8,"
    "allreduce:65536,alltoall:1024";
constexpr const char* kPairTcp =
    "latency:8,latency:1024,latency:65536,latency:4194304,rate:8,bandwidth:65536,bandwidth:4194304,bibandwidth:65536,"
    "overlap:1048576,barrier,allreduce:8";
constexpr const char* kCrowd = "barrier,allreduce:8,allreduce:65536,alltoall:1024";

constexpr const char* kRmaShm =
    "put_flush:8,get_flush:8,acc_flush:8,fetch_and_op:8,cas:8,lock_put_unlock:8,fence_put:8,pscw_put:8,put_flush:8192,"
    "put_flush:65536,put_flush:4194304,get_flush:4194304,acc_flush:4194304,memcpy:4194304,put_bandwidth:8192";
constexpr const char* kRmaTcp =
    "put_flush:8,get_flush:8,acc_flush:8,fetch_and_op:8,cas:8,lock_put_unlock:8,fence_put:8,pscw_put:8,put_flush:"
    "4194304,"
    "put_bandwidth:8,put_bandwidth:65536,put_flush_busy:8,idle_window";

constexpr const char* kCollectives =
    "barrier,bcast:8,bcast:65536,bcast:1048576,reduce:8,reduce:65536,reduce:1048576,allreduce:8,allreduce:65536,"
    "allreduce:1048576,gather:8,scatter:8,allgather:8,allgather:1024,allgather:65536,alltoall:8,alltoall:1024,"
    "alltoall:65536,reduce_scatter:65536";

constexpr const char* kShmemPair =
    "put:8,put:4096,put:65536,put:4194304,get:8,get:4096,get:65536,get:4194304,put_rate:8,put_bandwidth:65536,"
    "fetch_add:8,cas:8,barrier,bcast:8,bcast:65536,allreduce:8,allreduce:65536";
constexpr const char* kShmemCrowd = "barrier,bcast:8,bcast:65536,allreduce:8,allreduce:65536,gups:8,gups_queue:8";

/// A job for each of the metrics.
void add(std::vector<Job>& jobs, int ranks, const char* transport, const char* metrics) {
  std::stringstream list(metrics);
  for (std::string metric; std::getline(list, metric, ',');) jobs.push_back({ranks, transport, metric});
}

// The lines "metric size value" of one run.
Reading parse(const std::string& text, const Job& job) {
  Reading figures;
  std::istringstream lines(text);
  std::string metric;
  long size;
  double value;
  while (lines >> metric >> size >> value) figures[{metric, size, job.ranks, job.transport}] = value;
  return figures;
}

Result<Reading> run_once(const Job& job, const Implementation& impl, const Way& way, const Options& o) {
  Command command{way.before, way.variables};
  for (const std::string& word : {std::string("-n"), std::to_string(job.ranks), impl.program})
    command.words.push_back(word);
  if (!job.metrics.empty()) {
    command.words.push_back(job.metrics);
    command.words.push_back(fmt::format("{}", o.sample_seconds));
  }
  const auto done = run(command, std::chrono::seconds(o.quick ? 40 : 120));
  if (!done) return tl::unexpected(done.error());
  if (job.metrics.empty()) return Reading{{Row{"startup", 0, job.ranks, job.transport}, done->seconds * 1e3}};
  return parse(done->text, job);
}

}  // namespace

std::vector<Job> plan(const Options& options) {
  std::vector<Job> jobs;
  if (options.rma) {
    add(jobs, 2, "shm", kRmaShm);
    add(jobs, 2, "tcp", kRmaTcp);
    return jobs;
  }
  if (options.shmem) {
    for (const char* transport : {"shm", "tcp"}) {
      add(jobs, 2, transport, kShmemPair);
      add(jobs, 2, transport, "gups:8,gups_queue:8");
      add(jobs, 4, transport, kShmemCrowd);
    }
    return jobs;
  }
  if (!options.collectives.empty()) {
    for (const int ranks : options.collectives)
      for (const char* transport : {"shm", "tcp", "hosts"})
        if (ranks > 2 || transport != std::string("hosts")) add(jobs, ranks, transport, kCollectives);
    return jobs;
  }
  const bool quick = options.quick;
  add(jobs, 2, "shm", kPairShm);
  add(jobs, 2, "tcp", kPairTcp);
  for (const int ranks : {2, 16}) jobs.push_back({ranks, "shm", ""});
  add(jobs, 2, "shm", "memory");
  for (const int ranks : quick ? std::vector<int>{4, 16} : std::vector<int>{4, 8, 16}) add(jobs, ranks, "shm", kCrowd);
  if (!quick) add(jobs, 4, "tcp", "barrier,allreduce:8");
  return jobs;
}

Reading Runner::run(const Job& job, const Implementation& impl, std::size_t way) {
  const std::string key = fmt::format("{} {} {} {} {}", impl.name, way, job.ranks, job.transport, job.metrics);
  if (given_up_.contains(key)) return {};
  auto done = run_once(job, impl, impl.ways(job.transport, job.ranks, options_.cpus)[way], options_);
  if (done) return std::move(*done);
  fmt::print(stderr, "rmqperf: {}: left out: {}\n", impl.name, done.error().what);
  given_up_.insert(key);
  return {};
}

Table measure(const std::vector<Job>& jobs, const std::vector<Implementation>& all, const Options& options,
              const std::function<void(const Row&, const Turns&)>& on_row) {
  Table table;
  Runner runner(options);
  for (const Job& job : jobs) {
    std::vector<Contestant> contestants;
    for (const Implementation& impl : all)
      for (std::size_t way = 0; way < impl.ways(job.transport, job.ranks, options.cpus).size(); ++way)
        contestants.push_back({impl.name, [&runner, &job, &impl, way] { return runner.run(job, impl, way); }});
    Table rows = take_turns(contestants, static_cast<std::size_t>(options.rounds), probe_us);
    for (const auto& [row, turns] : rows) on_row(row, turns);
    table.merge(rows);
  }
  return table;
}

}  // namespace rmq::perf
