// SPDX-License-Identifier: BSD-3-Clause
// Jobs that a shell has put into the background of a terminal.
#include <gtest/gtest.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "tests/launch/processes.hpp"
#include "tools/process/fd.hpp"

namespace rmq::test {
namespace {

using launch::Pipe;

/// A shell of a terminal of its own, with one job, which it begins in the background.
class Terminal {
 public:
  explicit Terminal(const std::vector<std::string>& command) {
    Pipe orders = Pipe::create().value(), started = Pipe::create().value();
    int master = -1;
    shell_ = ::forkpty(&master, nullptr, nullptr, nullptr);
    if (shell_ == 0) be_the_shell(command, orders.reader.get(), started.writer.get());
    master_.reset(master);
    orders_ = std::move(orders.writer);
    EXPECT_EQ(::read(started.reader.get(), &job_, sizeof job_), static_cast<ssize_t>(sizeof job_));
  }
  ~Terminal() {
    if (shell_ <= 0) return;
    ::kill(job_, SIGTERM);
    ::kill(shell_, SIGKILL);
    ::waitpid(shell_, nullptr, 0);
  }
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  pid_t job() const { return job_; }
  void type(const std::string& text) { EXPECT_TRUE(launch::write_all(master_.get(), text)); }
  void bring_to_foreground() { EXPECT_TRUE(launch::write_all(orders_.get(), "f")); }

  /// Reads what is printed until this is there.
  void await(const std::string& wanted) {
    while (shown_.find(wanted) == std::string::npos) {
      ASSERT_TRUE(launch::wait_for(master_.get(), POLLIN, std::chrono::seconds(60))) << "stuck; so far: " << shown_;
      ASSERT_TRUE(launch::read_some(master_.get(), shown_)) << shown_;
    }
  }

  /// The job's wait status.
  int end() {
    int status = -1;
    EXPECT_EQ(::waitpid(shell_, &status, 0), shell_);
    shell_ = -1;
    return status;
  }

 private:
  [[noreturn]] static void be_the_shell(const std::vector<std::string>& command, int orders, int started) {
    termios mode{};
    ::tcgetattr(STDIN_FILENO, &mode);
    mode.c_lflag &= ~static_cast<tcflag_t>(ECHO);
    ::tcsetattr(STDIN_FILENO, TCSANOW, &mode);
    std::vector<char*> words;
    for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
    words.push_back(nullptr);
    const pid_t job = ::fork();
    if (job == 0) {
      ::setpgid(0, 0);
      ::execv(words[0], words.data());
      ::_exit(127);
    }
    ::setpgid(job, job);
    char order = 0;
    if (::write(started, &job, sizeof job) < 0 || ::read(orders, &order, 1) != 1) ::_exit(126);
    ::tcsetpgrp(STDIN_FILENO, job);
    ::kill(-job, SIGCONT);
    int status = 0;
    ::waitpid(job, &status, 0);
    ::_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128);
  }

  pid_t shell_ = -1, job_ = -1;
  launch::UniqueFd master_, orders_;
  std::string shown_;
};

// What is typed meanwhile is the shell's, and the launcher, which would have to read it for a rank on another host, is
// not stopped for trying: it hears signals all the while.
TEST(Terminal, BackgroundJobReadsItOnlyWhenItComesToTheForeground) {
  Terminal terminal(rmqrun({"--launcher", "env AGENT_OF={}", "--hosts", "a:1", "sh", "-c",
                            "trap 'echo heard' USR1; echo up; until read line; do :; done; echo got $line"}));
  terminal.await("up");
  terminal.type("typed\n");
  for (int i = 0; i < 2; ++i) {
    ::kill(terminal.job(), SIGUSR1);
    terminal.await("heard");
  }
  terminal.bring_to_foreground();
  terminal.await("got typed");
  EXPECT_EQ(terminal.end(), 0);
}

}  // namespace
}  // namespace rmq::test
