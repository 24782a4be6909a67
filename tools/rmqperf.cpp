// rmqperf: what RMQ costs, alone or beside the MPI implementations that are installed.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "tools/perf/plan.hpp"
#include "tools/perf/trace.hpp"

namespace {

namespace fs = std::filesystem;

// The benchmark's sources lie in share/ of an installation and in the source tree of a build.
std::string bench_sources(const fs::path& bin) {
  const fs::path shared = bin.parent_path() / "share/rmq/bench";
  return fs::exists(shared) ? shared.string() : RMQ_BENCH_SOURCES;
}

// The cost of recording, with the benchmark in a folder of its own.
int measure_trace(const rmq::perf::Options& options) {
  const fs::path bin = fs::canonical("/proc/self/exe").parent_path();
  char folder[] = "/tmp/rmqperf-XXXXXX";
  if (!::mkdtemp(folder)) return std::perror("rmqperf: cannot make a folder in /tmp"), 1;
  rmq::perf::Implementation rmq = rmq::perf::installed(bin.string(), false).front();
  rmq::Result<std::string> table;
  if (auto ok = rmq::perf::compile(rmq, bench_sources(bin), folder); ok) {
    table = rmq::perf::trace_cost(rmq, options, folder);
  } else {
    table = tl::unexpected(ok.error());
  }
  fs::remove_all(folder);
  if (!table) return fmt::print(stderr, "rmqperf: {}\n", table.error().what), 1;
  fmt::print("{}", *table);
  return 0;
}

int measure(const rmq::perf::Options& options, bool peers, const std::string& only, const std::string& json_file) {
  const fs::path bin = fs::canonical("/proc/self/exe").parent_path();
  char folder[] = "/tmp/rmqperf-XXXXXX";
  if (!::mkdtemp(folder)) return std::perror("rmqperf: cannot make a folder in /tmp"), 1;
  std::vector<rmq::perf::Implementation> all = rmq::perf::installed(bin.string(), peers);
  for (rmq::perf::Implementation& impl : all) {
    if (auto ok = rmq::perf::compile(impl, bench_sources(bin), folder); !ok) {
      fmt::print(stderr, "rmqperf: {}\n", ok.error().what);
      return 1;
    }
  }
  std::vector<rmq::perf::Job> jobs = rmq::perf::plan(options);
  if (!only.empty()) std::erase_if(jobs, [&](const auto& job) { return job.transport != only; });
  const auto samples = rmq::perf::measure(jobs, all, options);
  fs::remove_all(folder);
  fmt::print("{}", rmq::perf::table(samples));
  if (json_file.empty()) return 0;
  std::ofstream out(json_file);
  out << rmq::perf::json(samples);
  out.close();
  if (!out) return fmt::print(stderr, "rmqperf: cannot write {}\n", json_file), 1;
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Measures RMQ: latency, bandwidth, message rate, matching, overlap, collectives, start-up, memory"};
  app.set_version_flag("--version", "rmqperf " RMQ_VERSION);
  app.require_subcommand(1);
  rmq::perf::Options options;
  options.cpus = static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN));
  std::string json_file, only;
  CLI::App* run = app.add_subcommand("run", "RMQ alone");
  CLI::App* compare = app.add_subcommand("compare", "beside MPICH and Open MPI, in turn, each at its best setting");
  CLI::App* trace = app.add_subcommand("trace", "what recording costs: off, flight recorder, full trace");
  trace->add_option("--rounds", options.rounds, "runs of each")->check(CLI::PositiveNumber);
  for (CLI::App* sub : {run, compare}) {
    sub->add_flag("--rma", options.rma, "remote memory access instead");
    sub->add_flag("--quick", options.quick, "fewer and shorter samples: ends within 8 minutes");
    sub->add_option("--json", json_file, "also write the rows to this file");
    sub->add_option("--transport", only, "only shm or tcp")->check(CLI::IsMember({"shm", "tcp"}));
    sub->add_option("--rounds", options.rounds, "runs of each job and implementation")->check(CLI::PositiveNumber);
  }
  CLI11_PARSE(app, argc, argv);
  if (options.quick) {
    options.sample_seconds = 0.01;
    if ((run->count("--rounds") + compare->count("--rounds")) == 0) options.rounds = 3;
  }
  if (trace->parsed()) return measure_trace(options);
  return measure(options, compare->parsed(), only, json_file);
}
