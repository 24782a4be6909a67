// SPDX-License-Identifier: BSD-3-Clause
// The parent of one rank that rmqboot started. Host launchers end a job only on some kinds of death (MPICH's ignores a
// plain nonzero exit), and a rank that computes does not look at its own socket; the minder does what rmqrun's keeper
// does on one machine: ends its rank with all it started when the connection server says so or is gone, and tells the
// server how the rank ended, so that the user reads it by name.
#pragma once

#include <string>
#include <vector>

#include "tools/process/fd.hpp"

namespace rmq::launch {

/// The command line that makes rmqboot this process: rmqboot --mind CONTROL SOCKET FILE NAME ARGUMENTS…
inline constexpr const char* mind_option = "--mind";

struct MindedRank {
  UniqueFd control;                  // the minder's own connection to the server
  UniqueFd socket;                   // the rank's, which it inherits
  std::string file;                  // what to execute
  std::vector<std::string> command;  // its argv
};

/// Runs the rank; returns the exit code that the host launcher is to see. Dies of the signal that killed the rank.
int mind_rank(MindedRank rank);

}  // namespace rmq::launch
