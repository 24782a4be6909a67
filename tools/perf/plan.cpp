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

constexpr double kProbeSeconds = 0.002;
constexpr double kSlow = 1.3;  // times the fastest cache line seen: a slow phase is at twice

double best_of(const std::vector<double>& values, bool higher) {
  return higher ? *std::max_element(values.begin(), values.end()) : *std::min_element(values.begin(), values.end());
}

// The lines "metric size value" of one run.
std::map<Row, double> parse(const std::string& text, const Job& job) {
  std::map<Row, double> figures;
  std::istringstream lines(text);
  std::string metric;
  long size;
  double value;
  while (lines >> metric >> size >> value) figures[{metric, size, job.ranks, job.transport}] = value;
  return figures;
}

Result<std::map<Row, double>> run_once(const Job& job, const Implementation& impl, const Way& way, const Options& o) {
  Command command{way.before, way.variables};
  for (const std::string& word : {std::string("-n"), std::to_string(job.ranks), impl.program})
    command.words.push_back(word);
  if (!job.metrics.empty()) {
    command.words.push_back(job.metrics);
    command.words.push_back(fmt::format("{}", o.sample_seconds));
  }
  const auto done = run(command, std::chrono::seconds(o.quick ? 40 : 120));
  if (!done) return tl::unexpected(done.error());
  if (job.metrics.empty())
    return std::map<Row, double>{{Row{"startup", 0, job.ranks, job.transport}, done->seconds * 1e3}};
  return parse(done->text, job);
}

}  // namespace

std::string unit_of(const std::string& metric) {
  if (metric == "bandwidth" || metric == "bibandwidth" || metric == "put_bandwidth") return "GB/s";
  if (metric == "rate" || metric == "put_rate" || metric == "gups" || metric == "gups_queue") return "M/s";
  if (metric == "overlap" || metric == "idle_window") return "%";
  if (metric == "startup") return "ms";
  if (metric == "memory") return "MB";
  return "us";
}

bool higher_is_better(const std::string& metric) {
  const std::string unit = unit_of(metric);
  return unit == "GB/s" || unit == "M/s" || metric == "overlap";
}

std::vector<Job> plan(const Options& options) {
  if (options.rma) {
    // Each metric in a run of its own: where a peer's window crashes or hangs, only that row lacks it.
    std::vector<Job> jobs;
    for (const auto& [transport, metrics] : {std::pair{"shm", kRmaShm}, std::pair{"tcp", kRmaTcp}}) {
      std::stringstream list(metrics);
      for (std::string metric; std::getline(list, metric, ',');) jobs.push_back({2, transport, metric});
    }
    return jobs;
  }
  if (options.shmem) {
    std::vector<Job> jobs;
    for (const char* transport : {"shm", "tcp"}) {
      jobs.push_back({2, transport, kShmemPair});
      jobs.push_back({2, transport, "gups:8,gups_queue:8"});
      jobs.push_back({4, transport, kShmemCrowd});
    }
    return jobs;
  }
  if (!options.collectives.empty()) {
    std::vector<Job> jobs;
    for (const int ranks : options.collectives)
      for (const char* transport : {"shm", "tcp", "hosts"})
        if (ranks > 2 || transport != std::string("hosts")) jobs.push_back({ranks, transport, kCollectives});
    return jobs;
  }
  const bool quick = options.quick;
  std::vector<Job> jobs{
      {2, "shm", kPairShm}, {2, "tcp", kPairTcp}, {2, "shm", ""}, {16, "shm", ""}, {2, "shm", "memory"}};
  for (const int ranks : quick ? std::vector<int>{4, 16} : std::vector<int>{4, 8, 16})
    jobs.push_back({ranks, "shm", kCrowd});
  if (!quick) jobs.push_back({4, "tcp", "barrier,allreduce:8"});
  return jobs;
}

Figures Runner::run(const Job& job) {
  Figures figures;
  for (const Implementation& impl : all_) {
    const auto ways = impl.ways(job.transport, job.ranks, options_.cpus);
    for (std::size_t w = 0; w < ways.size(); ++w) {
      const std::string key = fmt::format("{} {} {} {} {}", impl.name, w, job.ranks, job.transport, job.metrics);
      if (given_up_.contains(key)) continue;
      const auto run = run_once(job, impl, ways[w], options_);
      if (!run) {
        fmt::print(stderr, "rmqperf: {}: left out: {}\n", impl.name, run.error().what);
        given_up_.insert(key);
        continue;
      }
      for (const auto& [row, value] : *run) {
        const auto [best, first] = figures[row].try_emplace(impl.name, value);
        if (!first) best->second = best_of({best->second, value}, higher_is_better(row.metric));
      }
    }
  }
  return figures;
}

Phases::Phases() : line_(line_us(kProbeSeconds)), fastest_(line_) {}

Result<void> Phases::repeat(int rounds, const std::function<Result<Figures>()>& round, Samples& samples) {
  struct Round {
    double line;
    Figures figures;
  };
  std::vector<Round> all;
  const auto wanted = static_cast<std::size_t>(rounds);
  const auto good = [&] {
    return static_cast<std::size_t>(
        std::ranges::count_if(all, [&](const Round& r) { return r.line <= kSlow * fastest_; }));
  };
  while (good() < wanted && all.size() < 2 * wanted) {
    const double before = line_;
    auto figures = round();
    if (!figures) return tl::unexpected(figures.error());
    line_ = line_us(kProbeSeconds);
    fastest_ = std::min(fastest_, line_);
    all.push_back({std::max(before, line_), std::move(*figures)});
  }
  std::ranges::stable_sort(all, {}, &Round::line);
  all.resize(std::min(all.size(), wanted));
  for (const Round& one : all) {
    for (const auto& [row, by_impl] : one.figures) {
      for (const auto& [impl, value] : by_impl) samples[row][impl].push_back(value);
    }
  }
  return {};
}

Samples measure(const std::vector<Job>& jobs, const std::vector<Implementation>& all, const Options& options) {
  Samples samples;
  Runner runner(all, options);
  Phases phases;
  for (const Job& job : jobs) {
    static_cast<void>(phases.repeat(
        options.rounds, [&] { return runner.run(job); }, samples));  // it cannot fail
  }
  return samples;
}

}  // namespace rmq::perf
