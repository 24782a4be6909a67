// SPDX-License-Identifier: BSD-3-Clause
#include "job.hpp"

#include <sys/wait.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "launch/family.hpp"
#include "leftover.hpp"

namespace torture {
namespace {

/// Runs a line of the shell and keeps what it says.
bool run_line(const std::string& line, std::string& output) {
  FILE* pipe = popen((line + " 2>&1 </dev/null").c_str(), "r");
  if (pipe == nullptr) return false;
  char piece[4096];
  while (std::size_t n = fread(piece, 1, sizeof piece, pipe)) output.append(piece, n);
  const int status = pclose(pipe);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

std::string trace_of(const Job& job) {
  return job.room->folder() + "/trace";
}

bool check_trace(const Job& job, std::string& output) {
  const std::string trace = trace_of(job);
  if (!std::filesystem::exists(trace)) return true;
  const auto rmqtrace = std::filesystem::path(job.rmqrun).parent_path() / "rmqtrace";
  std::string said;
  // The trace of a rank that was killed has no end: then nothing wrong so far is all that can be said.
  const bool clean = run_line(rmqtrace.string() + " check " + trace, said) ||
                     (job.dies && said.find("no violation of the protocol so far") != std::string::npos);
  if (!clean) output += "rmqtrace check: " + said;
  std::filesystem::remove_all(trace);
  return clean;
}

}  // namespace

std::string command(const Job& job, const std::string& more) {
  std::string line = job.rmqrun + " -n " + std::to_string(job.mode.ranks) + " --timeout " +
                     std::to_string(100 + 4 * job.mode.ranks) + " --hang-after 10 --hang-abort";
  for (const std::string& setting : job.mode.settings) line += (setting[0] == '-' ? " " : " -x ") + setting;
  if (job.mode.trace) line += " --trace " + trace_of(job);
  line += " " + job.torture + " --seed " + std::to_string(job.seed);
  if (job.count > 1) line += " --count " + std::to_string(job.count);
  if (job.keeps) {
    line += " --keep ";
    const char* comma = "";
    for (int step : job.kept) line += comma + std::to_string(step), comma = ",";
    if (job.kept.empty()) line += "-1";
  }
  return line + more;
}

Outcome run(const Job& job, const std::string& more) {
  Outcome outcome;
  const std::string mark = rmq::test::next_mark();
  const std::string around = std::string(rmq::test::kMarkVariable) + "=" + mark + " TMPDIR=" + job.room->folder() + " ";
  outcome.good = run_line(around + command(job, more), outcome.output);
  const bool clean = check_trace(job, outcome.output);  // of a job that failed, too: it has to go
  outcome.good = outcome.good && clean;
  if (job.plants) plant_leftovers(*job.room, mark);
  for (const std::string& left : take_leftovers(*job.room, mark)) {
    outcome.output += "left behind: " + left + "\n";
    outcome.good = false;
  }
  const std::size_t at = outcome.output.find(" programs, ");
  if (at != std::string::npos) outcome.calls = std::atol(outcome.output.c_str() + at + 11);
  return outcome;
}

}  // namespace torture
