// SPDX-License-Identifier: BSD-3-Clause
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

/// Runs the command to its end. Errc::system names the command and says how it failed (exit code, signal, time-out); on
/// a time-out it is ended with all its descendants. They become children of this process, which should have no others.
Result<Output> run(const Command& command, std::chrono::seconds timeout);

}  // namespace rmq::perf
