// SPDX-License-Identifier: BSD-3-Clause
// chaos RMQRUN TRAFFIC [--seed N | --first N --count N] [--seconds S] [--pause MS] [--verbose]
//
// Random jobs with random troubles (plan.hpp), one after the other. Each must end in time, with the right result or,
// where its trouble allows that, with a message that names rank and cause; and leave nothing behind: no process,
// segment, socket or file. `--seconds` ends the run early, `--pause` says how long what is stopped stays so (1000). A
// failing job prints its seed, and `--seed N` runs the same job again, though processes keep their own time.
#include <fmt/format.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>

#include "tests/chaos/job.hpp"

namespace rmq::test {
namespace {

struct Options {
  std::uint64_t first = 1, count = 100;
  double seconds = 1e9;
  int pause_ms = 1000;
  bool verbose = false;
};

bool read_options(int argc, char** argv, Options& out) {
  for (int i = 3; i < argc; ++i) {
    const std::string_view name = argv[i];
    if (name == "--verbose") {
      out.verbose = true;
      continue;
    }
    if (i + 1 == argc) return false;
    const char* const value = argv[++i];
    if (name == "--seed")
      out.first = std::strtoull(value, nullptr, 10), out.count = 1;
    else if (name == "--first")
      out.first = std::strtoull(value, nullptr, 10);
    else if (name == "--count")
      out.count = std::strtoull(value, nullptr, 10);
    else if (name == "--seconds")
      out.seconds = std::atof(value);
    else if (name == "--pause")
      out.pause_ms = std::atoi(value);
    else
      return false;
  }
  return argc >= 3;
}

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

struct Tally {
  int jobs = 0, finished = 0, failed = 0;
};

int run(const Options& options, const Tools& tools) {
  const Room room;
  if (!room.own())
    fmt::print("no namespaces of our own: sockets and segments are not looked for, some troubles do not happen\n");
  std::array<Tally, static_cast<std::size_t>(Trouble::count)> tallies{};
  int failures = 0;
  const auto start = std::chrono::steady_clock::now();
  for (std::uint64_t seed = options.first; seed < options.first + options.count; ++seed) {
    const std::chrono::duration<double> so_far = std::chrono::steady_clock::now() - start;
    if (so_far.count() > options.seconds) break;
    const Plan plan = draw_plan(seed, options.pause_ms);
    const Verdict verdict = run_job(plan, room, tools);
    Tally& tally = tallies[static_cast<std::size_t>(plan.trouble)];
    ++tally.jobs;
    tally.finished += verdict.finished;
    if (options.verbose)
      fmt::print("{}: {}\n", describe(plan), verdict.finished ? "finished" : first_line(verdict.said));
    std::fflush(stdout);
    if (verdict.fault.empty()) continue;
    ++tally.failed;
    ++failures;
    fmt::print("FAILED {}\n  {}\n{}\n", describe(plan), verdict.fault, verdict.said);
    std::fflush(stdout);
  }
  for (std::size_t t = 0; t < tallies.size(); ++t) {
    if (tallies[t].jobs == 0) continue;
    fmt::print("{:<18} {:>5} jobs, {:>5} came to their end, {} failed\n", name_of(static_cast<Trouble>(t)),
               tallies[t].jobs, tallies[t].finished, tallies[t].failed);
  }
  return failures == 0 ? 0 : 1;
}

}  // namespace
}  // namespace rmq::test

int main(int argc, char** argv) {
  rmq::test::Options options;
  if (!rmq::test::read_options(argc, argv, options)) {
    fmt::print(stderr,
               "usage: chaos RMQRUN TRAFFIC [--seed N | --first N --count N] [--seconds S] [--pause MS] [--verbose]\n");
    return 2;
  }
  // Jobs run in a folder of their own.
  return rmq::test::run(options, {std::filesystem::absolute(argv[1]), std::filesystem::absolute(argv[2])});
}
