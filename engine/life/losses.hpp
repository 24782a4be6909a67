// SPDX-License-Identifier: BSD-3-Clause
// Which losses of a rank end the job.
#pragma once

namespace rmq {
struct Request;
}

namespace rmq::mpi {

/// A message that fails because its other end is lost ends the job at once where its communicator's, or window's,
/// errors are fatal: the call that would tell of it may never come, as the rank waits for others, who wait for that
/// message. DeviceOptions::minds, with the device held; end_for_loss() of call/raise.hpp is ::on_lost.
bool is_fatal(const Request& message);

}  // namespace rmq::mpi
