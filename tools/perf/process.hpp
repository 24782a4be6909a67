// Runs one command and hands back what it printed.
#pragma once

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"

namespace rmq::perf {

struct Command {
  std::vector<std::string> words;                              // program (looked up in PATH) and its arguments
  std::vector<std::pair<std::string, std::string>> variables;  // added to the environment
};

struct Output {
  std::string text;    // standard output
  double seconds = 0;  // from start to end of the process
};

/// Runs the command to its end. Errc::system names the command and says how it failed (exit code, signal, time-out); on a
/// time-out the whole process group is ended.
Result<Output> run(const Command& command, std::chrono::seconds timeout);

/// Whether a program of this name is in PATH.
bool in_path(const std::string& program);

}  // namespace rmq::perf
