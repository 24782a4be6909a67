// SPDX-License-Identifier: BSD-3-Clause
// Real processes for the launcher's tests: start a command, talk to it, collect what it said, look for what it left
// behind.
#pragma once

#include <sys/types.h>

#include <string>
#include <utility>
#include <vector>

#include "tools/process/fd.hpp"

namespace rmq::test {

/// MPI_UNIVERSE_SIZE of a program that is alone: a slot for each CPU, and one more than itself at least.
int slots_of_one();

struct Outcome {
  int code = -1;  // exit code, or 128 + signal
  std::string out, err;
};

/// A command that runs. All its descendants carry a mark of their own in their environment, by which they are found
/// wherever they went. What still runs at the end of its life is killed.
class Process {
 public:
  using Variables = std::vector<std::pair<std::string, std::string>>;

  /// `input` becomes its stdin. Variables with an empty value are unset.
  explicit Process(const std::vector<std::string>& command, const std::string& input = "",
                   const Variables& environment = {});
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  pid_t pid() const { return pid_; }

  /// Waits until stdout holds `count` whole lines.
  void await_lines(int count);

  /// Waits until stdout holds this text.
  void await_text(const std::string& text);

  /// Waits for its end; the outcome holds all output up to then.
  Outcome wait();

  /// Its descendants that are alive now (zombies are not), itself included; only those of this name, unless it is
  /// empty.
  std::vector<pid_t> family(const std::string& name = "") const;

  /// Waits until a process is in this state, as /proc/<pid>/stat spells it (T stopped, R running …).
  static void await_state(pid_t pid, char state);

  /// Waits until no process with its mark is alive.
  void await_nobody() const;

 private:
  bool read_more();

  std::string mark_;
  pid_t pid_ = -1;
  launch::UniqueFd out_fd_;
  std::string out_;
  std::string err_file_;
  bool ended_ = false;
  int status_ = 0;
};

/// Starts a command and waits for its end.
Outcome run(const std::vector<std::string>& command, const std::string& input = "",
            const Process::Variables& environment = {});

/// rmqrun with these arguments; "PROBE" stands for the path of rank_probe.
std::vector<std::string> rmqrun(std::vector<std::string> arguments);

std::string probe_path();

/// The sorted lines of a text.
std::vector<std::string> sorted_lines(const std::string& text);

/// A job of two ranks, each of which says a line and spins: SIGTSTP stops all of it, and SIGCONT lets it go on. Ends
/// it.
void expect_stops_and_goes_on(Process& job);

}  // namespace rmq::test
