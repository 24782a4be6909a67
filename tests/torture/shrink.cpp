// SPDX-License-Identifier: BSD-3-Clause
#include "shrink.hpp"

#include <algorithm>
#include <cstdlib>
#include <vector>

namespace torture {
namespace {

/// A failure that comes by chance has three tries to come.
bool fails(const Job& job) {
  for (int i = 0; i < 3; ++i)
    if (!run(job).good) return true;
  return false;
}

bool find_program(Job& job, const Outcome& outcome) {
  const std::size_t at = outcome.output.find("seed ");
  if (at == std::string::npos) return false;
  Job one = job;
  one.count = 1;
  one.seed = std::strtoul(outcome.output.c_str() + at + 5, nullptr, 10);
  if (one.seed < job.seed || one.seed >= job.seed + static_cast<unsigned long>(job.count) || !fails(one)) return false;
  job = one;
  return true;
}

/// Delta debugging: leaves out ever smaller parts for as long as the job fails.
void fewer_steps(Job& job) {
  const int count = std::atoi(run(job, " --list").output.c_str());
  job.keeps = true;
  for (int i = 0; i < count; ++i) job.kept.insert(i);
  for (std::size_t part = (job.kept.size() + 1) / 2; part > 0; part = part == 1 ? 0 : (part + 1) / 2) {
    const std::vector<int> steps(job.kept.begin(), job.kept.end());
    for (std::size_t at = 0; at < steps.size(); at += part) {
      Job smaller = job;
      for (std::size_t i = at; i < std::min(at + part, steps.size()); ++i) smaller.kept.erase(steps[i]);
      if (fails(smaller)) job = smaller;
    }
  }
}

void fewer_modes(Job& job) {
  for (std::size_t i = job.mode.settings.size(); i-- > 0;) {
    Job smaller = job;
    smaller.mode.settings.erase(smaller.mode.settings.begin() + static_cast<long>(i));
    if (fails(smaller)) job = smaller;
  }
}

void no_trace(Job& job) {
  Job smaller = job;
  smaller.mode.trace = false;
  if (job.mode.trace && fails(smaller)) job = smaller;
}

/// Other ranks make another program of the seed, which may fail, too.
void fewer_ranks(Job& job) {
  for (const std::string& setting : job.mode.settings)
    if (setting.rfind("--host-split", 0) == 0) return;  // which names all ranks
  for (int ranks = 1; ranks < job.mode.ranks; ++ranks) {
    Job smaller = job;
    smaller.mode.ranks = ranks;
    if (!fails(smaller)) continue;
    job = smaller;
    return;
  }
}

}  // namespace

void shrink(Job job, const Outcome& outcome, std::ostream& to) {
  if (!find_program(job, outcome)) {
    to << "(no program of the job fails alone)" << std::endl;
    return;
  }
  no_trace(job);
  fewer_modes(job);
  fewer_ranks(job);
  fewer_steps(job);
  fewer_modes(job);
  to << "SHRUNKEN: " << command(job) << "\n" << run(job).output << run(job, " --print-c").output << std::endl;
}

}  // namespace torture
