// The connection server of a job that rmqboot started: a process of its own beside rank 0, whose ranks come in over
// TCP. It can't kill ranks (most are on other machines); it tells them to end, and the host's launcher ends whoever
// does not hear.
#pragma once

#include <string>

#include "tools/process/fd.hpp"

namespace rmq::launch {

/// The command line that makes rmqboot this process: rmqboot --serve LISTENER SIZE JOB. Its stdin brings the tickets,
/// and afterwards shows by its end that rank 0 has either executed its program or died.
inline constexpr const char* serve_option = "--serve";

/// Whether each rank has a minder (tools/boot/minder.hpp), or has been started by a launcher that knows nothing of us
/// (base/pmi_start.hpp): nobody else tells how a rank ended then, and its launcher ends those that do not hear.
enum class Minders : bool { none, each };

/// Serves `size` ranks of `job` until all have left; the exit code of the process.
int serve_remote_ranks(UniqueFd listener, int size, const std::string& job, Minders minders);

/// The server's process as base/pmi_server.hpp starts it: says on stdout where it listens, and goes on as nobody's
/// child; the exit code.
int serve_started_ranks(int size, const std::string& job, bool loopback);

}  // namespace rmq::launch
