// SPDX-License-Identifier: BSD-3-Clause
// rmqperf: what RMQ costs, alone or beside the MPI implementations that are installed.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "methods/names.hpp"
#include "tools/perf/calibrate.hpp"
#include "tools/perf/limits.hpp"
#include "tools/perf/plan.hpp"
#include "tools/perf/trace.hpp"
#include "tools/perf/tune.hpp"
#include "tools/sim/net.hpp"

namespace {

namespace fs = std::filesystem;

// The benchmark's sources lie in share/ of an installation and in the source tree of a build.
std::string bench_sources(const fs::path& bin) {
  const fs::path shared = bin.parent_path() / "share/rmq/bench";
  return fs::exists(shared) ? shared.string() : RMQ_BENCH_SOURCES;
}

/// A folder of our own for the benchmark, and for what its runs write; gone with the object.
struct Folder {
  Folder() : made(::mkdtemp(path) != nullptr) {}
  ~Folder() {
    if (made) fs::remove_all(path);
  }
  char path[32] = "/tmp/rmqperf-XXXXXX";
  const bool made;
};

/// RMQ and those of `peers` that are installed, with the benchmark compiled.
rmq::Result<std::vector<rmq::perf::Implementation>> prepare(const Folder& folder, const std::vector<std::string>& peers,
                                                            rmq::perf::Face face = rmq::perf::Face::mpi) {
  if (!folder.made) return rmq::fail_errno("cannot make a folder in /tmp");
  const fs::path bin = fs::canonical("/proc/self/exe").parent_path();
  std::vector<rmq::perf::Implementation> all = rmq::perf::installed(bin.string(), peers, face);
  for (rmq::perf::Implementation& impl : all) {
    if (auto ok = rmq::perf::compile(impl, bench_sources(bin), folder.path); !ok) return tl::unexpected(ok.error());
  }
  return all;
}

rmq::Result<std::string> trace_cost(const rmq::perf::Options& options) {
  const Folder folder;
  const auto rmq = prepare(folder, {});
  if (!rmq) return tl::unexpected(rmq.error());
  return rmq::perf::trace_cost(rmq->front(), options, folder.path);
}

/// Prints the table, and writes the rules to `file` (empty: prints them, too).
rmq::Result<std::string> tune(const rmq::perf::TuneOptions& options, const std::string& file) {
  const Folder folder;
  const auto rmq = prepare(folder, {});
  if (!rmq) return tl::unexpected(rmq.error());
  const auto tuned = rmq::perf::tune(rmq->front(), options);
  if (!tuned) return tl::unexpected(tuned.error());
  if (file.empty()) return tuned->table + "\n" + tuned->rules;
  std::ofstream out(file);
  out << "# Algorithms of collectives for " << options.ranks << " ranks: rmqrun --coll <this file>\n" << tuned->rules;
  out.close();
  if (!out) return rmq::fail(rmq::Errc::system, fmt::format("cannot write {}", file));
  return tuned->table;
}

/// Prints the table, and writes the costs to `file` (empty: prints them, too).
rmq::Result<std::string> calibrate(rmq::perf::CalibrateOptions options, const std::string& file) {
  const Folder folder;
  const auto rmq = prepare(folder, {});
  if (!rmq) return tl::unexpected(rmq.error());
  options.folder = folder.path;
  const auto made = rmq::perf::calibrate(rmq->front(), options);
  if (!made) return tl::unexpected(made.error());
  const std::string costs = rmq::sim::text_of(made->cost);
  if (file.empty()) return costs + (made->table.empty() ? "" : "\n") + made->table;
  std::ofstream out(file);
  out << "# What links cost here: rmqsim --net <this file>\n" << costs;
  out.close();
  if (!out) return rmq::fail(rmq::Errc::system, fmt::format("cannot write {}", file));
  return made->table;
}

rmq::Result<std::string> limits(const rmq::perf::Options& options) {
  const Folder folder;
  const auto rmq = prepare(folder, {});
  if (!rmq) return tl::unexpected(rmq.error());
  const auto table = rmq::perf::measure_limits(*rmq, options);
  if (!table) return tl::unexpected(table.error());
  return rmq::perf::limits_table(*table);
}

rmq::Result<std::string> compare(const rmq::perf::Options& options, const std::vector<std::string>& peers,
                                 const std::string& only, const std::string& json_file) {
  const Folder folder;
  const auto all = prepare(folder, peers, options.shmem ? rmq::perf::Face::shmem : rmq::perf::Face::mpi);
  if (!all) return tl::unexpected(all.error());
  std::vector<rmq::perf::Job> jobs = rmq::perf::plan(options);
  if (!only.empty()) std::erase_if(jobs, [&](const auto& job) { return job.transport != only; });
  if (jobs.empty()) return rmq::fail(rmq::Errc::config, fmt::format("there is nothing to measure over '{}'", only));
  const auto show = [](const std::string& text) {
    fmt::print("{}", text);
    std::fflush(stdout);  // a run that is ended early has shown what it knows
  };
  show(rmq::perf::table_head(*all));
  const auto table = rmq::perf::measure(
      jobs, *all, options, [&](const rmq::perf::Row& row, const auto& turns) { show(table_line(row, turns, *all)); });
  if (!json_file.empty()) {
    std::ofstream out(json_file);
    out << rmq::perf::json(table);
    out.close();
    if (!out) return rmq::fail(rmq::Errc::system, fmt::format("cannot write {}", json_file));
  }
  return rmq::perf::table_foot();
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Measures RMQ: latency, bandwidth, message rate, matching, overlap, collectives, start-up, memory"};
  app.set_version_flag("--version", "rmqperf " RMQ_VERSION);
  app.require_subcommand(1);
  rmq::perf::Options options;
  options.cpus = static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN));
  std::string json_file, only;
  std::vector<std::string> peers;
  CLI::App* run = app.add_subcommand("run", "RMQ alone");
  CLI::App* beside =
      app.add_subcommand("compare", "beside MPICH and Open MPI (--shmem: Open MPI and Sandia OpenSHMEM), in turn");
  CLI::App* trace = app.add_subcommand("trace", "what recording costs: off, flight recorder, full trace");
  CLI::App* limits_of =
      app.add_subcommand("limits", "beside what the machine itself can do: a bare line, ring, copy, connection");
  CLI::App* tune_of =
      app.add_subcommand("tune", "which algorithm of each collective is the fastest here, as rules for rmqrun --coll");
  CLI::App* calibrate_of = app.add_subcommand(
      "calibrate", "what links cost here, for rmqsim; and how far that is from what real ranks take");
  rmq::perf::TuneOptions tuning;
  rmq::perf::CalibrateOptions calibrating;
  calibrating.cpus = options.cpus;
  calibrate_of->add_flag("--check", calibrating.check, "run 20 patterns on real ranks, and simulate them");
  calibrate_of->add_option("--most", calibrating.most, "largest number of real ranks")->capture_default_str();
  calibrate_of->add_option("--rounds", calibrating.rounds, "runs of everything")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  std::string method, split, output;
  tuning.ranks = options.cpus;
  tune_of->add_option("-n,--ranks", tuning.ranks, "ranks")->check(CLI::Range(2, 1024))->capture_default_str();
  tune_of->add_option("--method", method, "one method for all")
      ->check(CLI::IsMember(
          std::vector<std::string>(std::begin(rmq::methods::kTransports), std::end(rmq::methods::kTransports))));
  tune_of->add_option("--host-split", split, "pretended hosts, as rmqrun has them");
  tune_of->add_option("--rounds", tuning.rounds, "runs of each algorithm")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  tune_of->add_option("--only", tuning.collectives, "only these collectives");
  tune_of->add_option("-o,--output", output, "write the rules to this file");
  calibrate_of->add_option("-o,--output", output, "write the costs to this file");
  for (CLI::App* sub : {trace, limits_of})
    sub->add_option("--rounds", options.rounds, "runs of each")->check(CLI::PositiveNumber);
  for (CLI::App* sub : {run, beside}) {
    CLI::Option* const rma = sub->add_flag("--rma", options.rma, "remote memory access instead");
    sub->add_flag("--shmem", options.shmem, "OpenSHMEM instead, and the same accesses by MPI's windows")->excludes(rma);
    sub->add_option("--collectives", options.collectives, "collectives instead, with so many ranks: 2,4,8")
        ->delimiter(',')
        ->check(CLI::Range(2, 1024));
    sub->add_flag("--quick", options.quick, "fewer and shorter samples: ends within 8 minutes");
    sub->add_option("--json", json_file, "also write the rows to this file");
    sub->add_option("--transport", only, "only shm, tcp or two pretended hosts")
        ->check(CLI::IsMember({"shm", "tcp", "hosts"}));
    sub->add_option("--rounds", options.rounds, "runs of each job and implementation")->check(CLI::PositiveNumber);
  }
  beside
      ->add_option("--peers", peers,
                   "only these: an MPI that waits by spinning takes minutes where ranks outnumber CPUs")
      ->delimiter(',')
      ->check(CLI::IsMember({"mpich", "openmpi", "sos"}));
  CLI11_PARSE(app, argc, argv);
  if (!beside->parsed()) {
    peers.clear();
  } else if (peers.empty()) {
    peers = options.shmem ? rmq::perf::kShmemPeers : rmq::perf::kPeers;
  }
  if (options.quick) {
    options.sample_seconds = 0.01;
    if ((run->count("--rounds") + beside->count("--rounds")) == 0) options.rounds = 3;
  }
  if (!method.empty()) tuning.launch.insert(tuning.launch.end(), {"--method", method});
  if (!split.empty()) tuning.launch.insert(tuning.launch.end(), {"--host-split", split});
  tuning.hosts = 1 + static_cast<int>(std::ranges::count(split, ','));
  const auto text = trace->parsed()          ? trace_cost(options)
                    : tune_of->parsed()      ? tune(tuning, output)
                    : calibrate_of->parsed() ? calibrate(calibrating, output)
                    : limits_of->parsed()    ? limits(options)
                                             : compare(options, peers, only, json_file);
  if (!text) return fmt::print(stderr, "rmqperf: {}\n", text.error().what), 1;
  fmt::print("{}", *text);
  return 0;
}
