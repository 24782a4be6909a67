// SPDX-License-Identifier: BSD-3-Clause
// Receives from any source, in a job that goes on when ranks die: none can complete while a member has failed whom the
// program has not acknowledged, for it may be the one that would have sent. Needs the device held.
#pragma once

#include "engine/object/deaths.hpp"

namespace rmq {
struct Request;
}

namespace rmq::mpi::ft {

bool waits_for_failed_member(const Request& r);
/// Whether the request cannot complete before the program acknowledges a failure.
inline bool waits_for_failed(const Request& r) {
  return may_fail() && waits_for_failed_member(r);
}
/// What a call says that waits for such a one.
Failure pending_failure(const Request& r);
/// Before a blocking call settles its receive from any source: waits until that is complete, or fails because a member
/// has failed whom the program has not acknowledged.
void await_from_any(Comm& c, Request* recv);

}  // namespace rmq::mpi::ft
