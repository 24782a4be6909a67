// SPDX-License-Identifier: BSD-3-Clause
// A launcher for a program that nobody has launched, when it wants one: rmqrun, beside the library or in PATH.
#pragma once

#include "start/bootstrap.hpp"

namespace rmq::boot {

/// What says so to it; its number of the socket, and the id of the job, follow.
inline constexpr const char* guest_option = "--serve";

/// Starts it and returns the socket to its connection server, for this process as rank 0 of `job`. It is no child of
/// this process, and has a session of its own; when this process dies, it ends what it has started and itself.
/// RMQ_LAUNCHER names another program. Errc::argument: none was found.
Result<int> start_launcher(const JobInfo& job);

}  // namespace rmq::boot
