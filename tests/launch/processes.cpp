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
#include <cstdlib>
#include <sstream>

#include "tests/launch/family.hpp"

namespace rmq::test {

namespace {

// Nothing here takes this long; a test that does is stuck, and says so instead of hanging.
constexpr std::chrono::seconds watchdog{60};

int code_of(int status) {
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

[[noreturn]] void become(const std::vector<std::string>& command) {
  std::vector<char*> argv;
  for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  ::execvp(argv[0], argv.data());
  ::_exit(126);
}

int input_file(const std::string& input) {
  const std::string path = fmt::format("/tmp/rmq-test-in-{}", next_mark());
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  ::unlink(path.c_str());
  EXPECT_EQ(::write(fd, input.data(), input.size()), static_cast<ssize_t>(input.size()));
  ::lseek(fd, 0, SEEK_SET);
  return fd;
}

}  // namespace

Process::Process(const std::vector<std::string>& command, const std::string& input, const Variables& environment)
    : mark_(next_mark()), err_file_(fmt::format("/tmp/rmq-test-err-{}", mark_)) {
  const int in = input_file(input);
  const int err = ::open(err_file_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600);
  int out[2];
  EXPECT_EQ(::pipe2(out, O_CLOEXEC), 0);
  pid_ = ::fork();
  if (pid_ == 0) {
    ::dup2(in, 0);
    ::dup2(out[1], 1);
    ::dup2(err, 2);
    ::setenv(kMarkVariable, mark_.c_str(), 1);
    for (const auto& [name, value] : environment)
      value.empty() ? ::unsetenv(name.c_str()) : ::setenv(name.c_str(), value.c_str(), 1);
    become(command);
  }
  ::close(in);
  ::close(err);
  ::close(out[1]);
  out_fd_ = out[0];
}

Process::~Process() {
  for (const pid_t pid : family()) ::kill(pid, SIGKILL);
  if (!ended_) ::waitpid(pid_, nullptr, 0);
  ::close(out_fd_);
  ::unlink(err_file_.c_str());
}

bool Process::read_more() {
  pollfd ready{out_fd_, POLLIN, 0};
  if (::poll(&ready, 1, static_cast<int>(std::chrono::milliseconds(watchdog).count())) <= 0) {
    ADD_FAILURE() << "stuck; so far on stdout: " << out_ << "\non stderr: " << read_all(err_file_);
    for (const pid_t pid : family()) ::kill(pid, SIGKILL);
    return false;
  }
  char chunk[4096];
  const ssize_t got = ::read(out_fd_, chunk, sizeof chunk);
  if (got > 0) out_.append(chunk, static_cast<std::size_t>(got));
  return got > 0;
}

void Process::await_lines(int count) {
  while (std::count(out_.begin(), out_.end(), '\n') < count)
    if (!read_more()) {
      ADD_FAILURE() << "ended before it had printed " << count << " lines: " << out_ << read_all(err_file_);
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
  std::string stat;
  do {
    stat = read_all(fmt::format("/proc/{}/stat", pid));
    const std::size_t name_end = stat.rfind(')');
    if (name_end != std::string::npos && stat.size() > name_end + 2 && stat[name_end + 2] == state) return;
    ::poll(nullptr, 0, 1);
  } while (std::chrono::steady_clock::now() < deadline);
  ADD_FAILURE() << "process " << pid << " is not in state " << state << ": " << stat;
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

}  // namespace rmq::test
