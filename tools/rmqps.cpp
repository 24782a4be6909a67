// SPDX-License-Identifier: BSD-3-Clause
// rmqps: the jobs of this user on this host, and what the ranks of one are doing. design/diagnosis.md tells how.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "tools/diag/control.hpp"
#include "tools/diag/find.hpp"
#include "tools/diag/json_text.hpp"
#include "tools/process/printable.hpp"
#include "tools/process/reap.hpp"

namespace {

using namespace rmq;

std::string command_of(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/cmdline", pid));
  std::ostringstream all;
  all << file.rdbuf();  // which does not throw when the process ends meanwhile
  std::string text = all.str();
  while (!text.empty() && text.back() == '\0') text.pop_back();
  for (char& c : text)
    if (c == '\0') c = ' ';
  return text;
}

int list() {
  const auto jobs = launch::list_jobs();
  if (jobs.empty()) {
    std::fputs("no job of yours runs on this host\n", stderr);
    return 0;
  }
  fmt::print("{:<16}  {:>8}  {}\n", "job", "launcher", "command");
  for (const auto& [job, launcher] : jobs)
    fmt::print("{:<16}  {:>8}  {}\n", job, launcher, launch::printable(command_of(launcher)));
  return 0;
}

// The whole id of what the user has typed: an id, its beginning, or a process id of the launcher (either of its two).
Result<std::string> find_job(const std::string& wanted) {
  std::vector<std::string> fits;
  for (const auto& [job, keeper] : launch::list_jobs()) {
    if (job == wanted) return job;
    const pid_t front = launch::process_stat(keeper).parent;
    if (job.starts_with(wanted) || std::to_string(keeper) == wanted || (front > 0 && std::to_string(front) == wanted))
      fits.push_back(job);
  }
  if (fits.size() == 1) return fits.front();
  return fail(Errc::argument, fmt::format("{} {} of yours on this host; rmqps lists them",
                                          fits.empty() ? "there is no job" : "there are several jobs", wanted));
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{
      "Without JOB: lists your jobs on this host. With it: asks every rank of the job what it is doing and says who "
      "waits "
      "for whom.\nA rank that computes is asked by a signal (SIGURG), which ends its sleep(), if it is in one, early.",
      "rmqps"};
  std::string wanted;
  bool json = false;
  app.add_option("JOB", wanted, "id of the job, the beginning of it, or the process id of its rmqrun");
  app.add_flag("--json", json, "what the ranks told, and the findings, as JSON");
  app.set_version_flag("--version", "rmqps (RMQ) " RMQ_VERSION);
  CLI11_PARSE(app, argc, argv);
  if (wanted.empty()) return list();
  const auto job = find_job(wanted);
  const auto document = job.and_then([](const std::string& id) { return launch::ask_job(id); });
  if (!document) {
    fmt::print(stderr, "rmqps: {}\n", launch::printable(document.error().what));
    return 1;
  }
  auto told = nlohmann::json::parse(*document, nullptr, false);
  if (!told.is_object()) {
    fmt::print(stderr, "rmqps: job {} ended before it answered\n", *job);
    return 1;
  }
  const diag::Job read = diag::read_job(told);
  if (!json) {
    std::fputs(launch::printable(diag::describe(read)).c_str(), stdout);
    return 0;
  }
  told["findings"] = nlohmann::json::array();
  for (const diag::Finding& f : diag::find(read)) told["findings"].push_back({{"name", f.name}, {"text", f.text}});
  std::puts(launch::json_text(told, 2).c_str());
  return 0;
}
