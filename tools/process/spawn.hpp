// SPDX-License-Identifier: BSD-3-Clause
// Starts one process, fast and with everything a rank needs that posix_spawn cannot give it: death with its parent, a
// CPU, a folder, one inherited socket.
#pragma once

#include <signal.h>
#include <sys/resource.h>
#include <sys/types.h>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"

namespace rmq::launch {

/// NAME=VALUE texts with replacement by name.
class Environment {
 public:
  /// A copy of this process's environment.
  static Environment inherited();
  /// Of NAME=VALUE texts, each name once.
  static Environment of(std::vector<std::string> texts);

  void set(const std::string& name, const std::string& value);
  void unset_matching(const std::function<bool(std::string_view name)>& unwanted);
  std::string get(const std::string& name) const;  // empty where unset
  const std::vector<std::string>& texts() const { return texts_; }

 private:
  std::size_t index_of(std::string_view name) const;  // texts_.size() where unset
  std::vector<std::string> texts_;
};

/// What to start and how. Pointers and descriptors stay the caller's and need to live only during spawn().
struct SpawnPlan {
  std::string program;                 // as find_program returned it; empty: arguments[0] is looked up
  std::vector<std::string> arguments;  // argv, the name first
  Environment environment;
  std::string folder;                       // working folder; empty: the launcher's
  int input = -1, output = -1, error = -1;  // become descriptors 0, 1, 2; -1: the launcher's own
  std::vector<int> keep;  // descriptors that stay open under their numbers (-1: none); all others close on exec
  std::vector<int> cpus;  // bind to these; none: the launcher's
  const sigset_t* signal_mask = nullptr;  // of the new process
  const rlimit* open_files = nullptr;     // RLIMIT_NOFILE of the new process; nullptr: the launcher's
  bool ignore_quit = false;               // SIGQUIT, which is the launcher's own
  bool die_with_parent = true;            // SIGKILL when the launcher dies
  bool own_session = false;               // away from the launcher's terminal: its keys do not reach it
};

/// Starts the process and returns its id. Errc::system names the step that failed, the program and errno in words; no
/// process is left then; Errc::argument: there is no such program. One thread only: the caller stands still until the
/// new process has executed its program.
Result<pid_t> spawn(const SpawnPlan& plan);

/// Becomes the program, a file, as execve does; returns only when that fails, with errno.
void execute(const std::string& program, const std::vector<std::string>& arguments, const Environment& environment);

/// The file that `name` means: itself when it has a slash, else looked up in `path` (of the environment's PATH), else
/// in `folder`, as MPICH's mpiexec does. Relative results are relative to `folder`. Errc::argument when there is none,
/// with whether it is missing or not executable.
Result<std::string> find_program(const std::string& name, const std::string& path, const std::string& folder);

}  // namespace rmq::launch
