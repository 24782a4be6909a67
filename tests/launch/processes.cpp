// SPDX-License-Identifier: BSD-3-Clause
#include "tests/launch/processes.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <sstream>

#include "tests/launch/family.hpp"
#include "tools/process/reap.hpp"
#include "tools/process/spawn.hpp"

namespace rmq::test {

namespace {

// Nothing here takes this long; a test that does is stuck, and says so instead of hanging.
constexpr std::chrono::seconds watchdog{60};

int code_of(int status) {
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

launch::UniqueFd input_file(const std::string& input) {
  const std::string path = fmt::format("/tmp/rmq-test-in-{}", next_mark());
  launch::UniqueFd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  ::unlink(path.c_str());
  EXPECT_TRUE(launch::write_all(fd.get(), input));
  ::lseek(fd.get(), 0, SEEK_SET);
  return fd;
}

}  // namespace

int slots_of_one() {
  return std::max(2, static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN)));
}

Process::Process(const std::vector<std::string>& command, const std::string& input, const Variables& environment)
    : mark_(next_mark()), err_file_(fmt::format("/tmp/rmq-test-err-{}", mark_)) {
  const launch::UniqueFd in = input_file(input);
  const launch::UniqueFd err(::open(err_file_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600));
  auto out = launch::Pipe::create().value();
  launch::SpawnPlan plan;
  plan.arguments = command;
  plan.environment = launch::Environment::inherited();
  plan.environment.set(kMarkVariable, mark_);
  for (const auto& [name, value] : environment) {
    plan.environment.unset_matching([&](std::string_view other) { return other == name; });
    if (!value.empty()) plan.environment.set(name, value);
  }
  plan.input = in.get();
  plan.output = out.writer.get();
  plan.error = err.get();
  pid_ = launch::spawn(plan).value();
  out_fd_ = std::move(out.reader);
}

Process::~Process() {
  for (const pid_t pid : family()) ::kill(pid, SIGKILL);
  if (!ended_) ::waitpid(pid_, nullptr, 0);
  ::unlink(err_file_.c_str());
}

bool Process::read_more() {
  if (!launch::wait_for(out_fd_.get(), POLLIN, watchdog)) {
    ADD_FAILURE() << "stuck; so far on stdout: " << out_ << "\non stderr: " << read_all(err_file_);
    for (const pid_t pid : family()) ::kill(pid, SIGKILL);
    return false;
  }
  return launch::read_some(out_fd_.get(), out_);
}

void Process::await_lines(int count) {
  while (std::count(out_.begin(), out_.end(), '\n') < count)
    if (!read_more()) {
      ADD_FAILURE() << "ended before it had printed " << count << " lines: " << out_ << read_all(err_file_);
      return;
    }
}

void Process::await_text(const std::string& text) {
  while (out_.find(text) == std::string::npos)
    if (!read_more()) {
      ADD_FAILURE() << "ended before it had printed '" << text << "': " << out_ << read_all(err_file_);
      return;
    }
}

Outcome Process::wait() {
  while (read_more()) {
  }
  if (!ended_) ::waitpid(pid_, &status_, 0);
  ended_ = true;
  return {code_of(status_), out_, read_all(err_file_)};
}

void Process::await_state(pid_t pid, char state) {
  const auto deadline = std::chrono::steady_clock::now() + watchdog;
  while (launch::process_stat(pid).state != state) {
    if (std::chrono::steady_clock::now() > deadline) {
      ADD_FAILURE() << "not in state " << state << ": " << read_all(fmt::format("/proc/{}/stat", pid));
      return;
    }
    ::poll(nullptr, 0, 1);
  }
}

std::vector<pid_t> Process::family(const std::string& name) const {
  return family_of(mark_, name);
}

void Process::await_nobody() const {
  const auto deadline = std::chrono::steady_clock::now() + watchdog;
  std::vector<pid_t> left;
  while (!(left = family()).empty() && std::chrono::steady_clock::now() < deadline) ::poll(nullptr, 0, 1);
  for (const pid_t pid : left) ADD_FAILURE() << "left behind: " << read_all(fmt::format("/proc/{}/stat", pid));
}

Outcome run(const std::vector<std::string>& command, const std::string& input, const Process::Variables& environment) {
  return Process(command, input, environment).wait();
}

std::string probe_path() {
  return RANK_PROBE;
}

std::vector<std::string> rmqrun(std::vector<std::string> arguments) {
  for (std::string& word : arguments)
    for (std::size_t at = 0; (at = word.find("PROBE", at)) != std::string::npos; at += probe_path().size())
      word.replace(at, 5, probe_path());
  arguments.insert(arguments.begin(), RMQ_BIN_DIR "/rmqrun");
  return arguments;
}

std::vector<std::string> sorted_lines(const std::string& text) {
  std::vector<std::string> out;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) out.push_back(line);
  std::sort(out.begin(), out.end());
  return out;
}

void expect_stops_and_goes_on(Process& job) {
  job.await_lines(2);
  ::kill(job.pid(), SIGTSTP);
  job.await_state(job.pid(), 'T');
  for (const pid_t pid : job.family("rank_probe")) job.await_state(pid, 'T');
  ::kill(job.pid(), SIGCONT);
  for (const pid_t pid : job.family("rank_probe")) job.await_state(pid, 'R');
  ::kill(job.pid(), SIGTERM);
  EXPECT_EQ(job.wait().code, 128 + SIGTERM);
  job.await_nobody();
}

}  // namespace rmq::test
