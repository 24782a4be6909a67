// SPDX-License-Identifier: BSD-3-Clause
// Draws modes and seeds, runs one job after the other, and shrinks what fails to few steps, ranks and modes.
//   torture_drive RMQRUN TORTURE [--seconds N] [--count PROGRAMS] [--first SEED]
//     [--also TORTURE] [--deaths DEATHS] [--other PROGRAM]... [--plant] [--brief]
// --also: the same program, built another way, for some jobs. --deaths: the program whose ranks die, for some jobs.
// --other: programs of another face, which draw from --seed and --count as well, for some jobs.
// --plant: something of each kind is left behind, which has to show.
// --brief: the first job that fails ends it, and is not shrunk.
// Without --first the seeds are fresh, and the first one is printed. A job that fails prints how it is had again, its
// output, and the shrunken program as C. Exit code 1 when one failed.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "job.hpp"
#include "mode.hpp"
#include "shrink.hpp"

namespace {

using Clock = std::chrono::steady_clock;

struct Options {
  std::string rmqrun, torture, also, deaths;
  std::vector<std::string> others;
  bool plants = false, brief = false;
  long seconds = 1000000, count = 1000000000;
  unsigned long first = 0;
};

bool read(int argc, char** argv, Options& o) {
  if (argc < 3) return false;
  o.rmqrun = argv[1];
  o.torture = argv[2];
  std::random_device device;
  o.first = device() % 1000000000;
  for (int i = 3; i < argc; i += 2) {
    const std::string word = argv[i];
    if (word == "--plant" || word == "--brief") {
      (word == "--plant" ? o.plants : o.brief) = true;
      --i;
      continue;
    }
    if (i + 1 == argc) return false;
    if (word == "--seconds")
      o.seconds = std::atol(argv[i + 1]);
    else if (word == "--count")
      o.count = std::atol(argv[i + 1]);
    else if (word == "--also")
      o.also = argv[i + 1];
    else if (word == "--deaths")
      o.deaths = argv[i + 1];
    else if (word == "--other")
      o.others.emplace_back(argv[i + 1]);
    else if (word == "--first")
      o.first = std::strtoul(argv[i + 1], nullptr, 10);
    else
      return false;
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  Options o;
  if (!read(argc, argv, o)) {
    std::cerr << "usage: torture_drive RMQRUN TORTURE [--seconds N] [--count PROGRAMS] [--first SEED]\n";
    return 2;
  }
  std::cout << "first seed " << o.first << std::endl;
  const auto begin = Clock::now();
  const auto elapsed = [&] { return std::chrono::duration_cast<std::chrono::seconds>(Clock::now() - begin).count(); };
  const rmq::test::Room room;
  std::optional<rmq::test::Room::Disk> disk;  // segments of many ranks need more than the room has
  if (room.own()) disk.emplace("/dev/shm", 4ull << 30);
  std::map<std::string, long> covered;
  long programs = 0, calls = 0, jobs = 0, failures = 0;
  for (unsigned long seed = o.first; programs < o.count && elapsed() < o.seconds;) {
    torture::Job job;
    job.room = &room;
    job.rmqrun = o.rmqrun;
    job.torture = o.torture;
    const unsigned long other = seed % 9;
    job.dies = !o.deaths.empty() && other == 0;
    job.mode = torture::draw_mode(seed, job.dies);
    job.seed = seed;
    job.plants = o.plants;
    if (!o.also.empty() && seed % 8 == 0) job.torture = o.also;
    job.count = std::min<long>(job.mode.ranks > 33 ? 1 : job.mode.ranks > 9 ? 5 : 40, o.count - programs);
    if (job.dies) {
      job.torture = o.deaths;
      job.count = 20;  // rounds
      job.mode.settings.push_back("--ft");
    }
    const bool another = other > 0 && other <= o.others.size();
    if (another) job.torture = o.others[other - 1];
    const torture::Outcome outcome = run(job);
    ++jobs;
    programs += job.count;
    calls += outcome.calls;
    ++covered["ranks " + std::to_string(job.mode.ranks)];
    for (const std::string& setting : job.mode.settings) ++covered[setting];
    if (job.mode.trace) ++covered["trace"];
    if (job.torture == o.also) ++covered["also"];
    if (job.dies || another) ++covered[std::filesystem::path(job.torture).filename()];
    seed += static_cast<unsigned long>(job.count);
    if (outcome.good) continue;
    ++failures;
    std::cout << "FAILED: " << command(job) << "\n" << outcome.output << std::endl;
    if (o.brief) break;
    if (!o.plants && !job.dies && !another) shrink(job, outcome, std::cout);
  }
  std::cout << programs << " programs in " << jobs << " jobs, " << calls << " calls, " << elapsed() << " s, "
            << failures << " failed; " << covered.size() << " modes:";
  for (const auto& [mode, n] : covered) std::cout << " " << mode << " x" << n << ";";
  std::cout << std::endl;
  return failures == 0 ? 0 : 1;
}
