// SPDX-License-Identifier: BSD-3-Clause
// The connection server of a job that rmqboot started: a process of its own beside rank 0, whose ranks come in over
// TCP. It can't kill ranks (most are on other machines); it tells them to end, and the host's launcher ends whoever
// does not hear.
#pragma once

#include <string>

#include "tools/process/fd.hpp"

namespace rmq::launch {

/// The command line that makes rmqboot this process: rmqboot --serve LISTENER SIZE JOB. Its stdin brings the tickets
/// and a line with the host of each rank (boot::format_hosts), and afterwards shows by its end that rank 0 has either
/// executed its program or died.
inline constexpr const char* serve_option = "--serve";

/// Serves `size` ranks of `job`, each with a minder (tools/boot/minder.hpp), until all have left; the exit code of the
/// process.
int serve_remote_ranks(UniqueFd listener, int size, const std::string& job);

/// The same for ranks that a launcher has started which knows nothing of us (start/pmi_server.hpp): nobody but them
/// tells how they end. Says on stdout where it listens, and goes on as nobody's child. Over `launcher`, where it is
/// open, the launcher hears of the job's end (PMI-1): some do not end it for the death of one rank.
int serve_started_ranks(int size, const std::string& job, bool loopback, UniqueFd launcher);

}  // namespace rmq::launch
