#include "job.hpp"

#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>

namespace torture {

std::string command(const Job& job, const std::string& more) {
  std::string line =
      job.rmqrun + " -n " + std::to_string(job.mode.ranks) + " --timeout 100 --hang-after 10 --hang-abort";
  for (const std::string& setting : job.mode.settings) line += (setting[0] == '-' ? " " : " -x ") + setting;
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
  FILE* pipe = popen((command(job, more) + " 2>&1 </dev/null").c_str(), "r");
  if (pipe == nullptr) return outcome;
  char piece[4096];
  while (std::size_t n = fread(piece, 1, sizeof piece, pipe)) outcome.output.append(piece, n);
  const int status = pclose(pipe);
  outcome.good = WIFEXITED(status) && WEXITSTATUS(status) == 0;
  const std::size_t at = outcome.output.find(" programs, ");
  if (at != std::string::npos) outcome.calls = std::atol(outcome.output.c_str() + at + 11);
  return outcome;
}

}  // namespace torture
