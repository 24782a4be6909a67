// SPDX-License-Identifier: BSD-3-Clause
// The agent: the launcher's process on another host, started by a command such as ssh, whose standard input and output
// are its link (tools/launch/link.hpp). It starts its host's ranks, serves them, carries what they print, and starts
// and speaks for the agents below it.
//
// Like the launcher it runs as two processes (tools/launch/front.hpp), so that kill -9 of either leaves nothing behind.
// When the link ends, so does all that it has started.
#pragma once

#include <signal.h>

#include "tools/process/fd.hpp"

namespace rmq::launch {

/// Is an agent until its link ends or it is told to; the exit code of the process. In the keeper of run_kept.
int run_agent(UniqueFd leash, const sigset_t& ranks_mask);

}  // namespace rmq::launch
