// SPDX-License-Identifier: BSD-3-Clause
// What the end of one rank's process means for the job.
#pragma once

#include <string>
#include <string_view>

#include "tools/launch/server.hpp"

namespace rmq::launch {

struct Verdict {
  enum class Effect {
    fine,      // it did what it should
    recorded,  // the job goes on, and fails with `code` at its end
    ends_job,  // the other ranks are to be ended
  };
  Effect effect = Effect::fine;
  int code = 0;         // exit code of the job
  std::string message;  // one line for the user, empty when there is nothing to say
};

/// `status` as waitpid returned it; `who` names the rank for the user: "rank 3 (prog)"; `alone`: the job has no other.
Verdict judge(std::string_view who, RankState state, int status, bool alone);

/// "SIGKILL", or "signal 77" where it has no name.
std::string signal_name(int signal);

/// Text of a rank, fit for one line of the user's terminal.
std::string one_line(std::string_view text);

/// The exit codes of the launcher itself.
inline constexpr int exit_lost_output = 1;     // what ranks print cannot be written
inline constexpr int exit_usage = 2;           // the command line makes no sense
inline constexpr int exit_timeout = 124;       // as timeout(1)
inline constexpr int exit_hang = 125;          // --hang-abort
inline constexpr int exit_cannot_start = 127;  // as the shell's, program not found

}  // namespace rmq::launch
