// SPDX-License-Identifier: BSD-3-Clause
#include "engine/message/pending.hpp"

#include "engine/ft/faults.hpp"
#include "engine/message/requests.hpp"

namespace rmq::mpi::ft {

bool waits_for_failed_member(const Request& r) {
  if (runtime().faults->dead().empty()) return false;
  const Request* const recv = r.kind == RequestKind::other ? activity_of(r)->receive() : &r;
  if (!recv || recv->kind != RequestKind::recv || recv->step != Step::posted || recv->match.source != kAnySource)
    return false;
  return circle_of(*comm_of(r)).has_unacknowledged();
}

Failure pending_failure(const Request& r) {
  Comm& c = *comm_of(r);
  return {MPIX_ERR_PROC_FAILED_PENDING, unacknowledged_text(circle_of(c)), c.handle};
}

void await_from_any(Comm& c, Request* recv) {
  while (!recv->complete()) {
    if (waits_for_failed_member(*recv)) {
      const Circle& circle = circle_of(c);
      recv->peer = circle.members()[circle.failed()[circle.acknowledged()]];  // whom the error names
      if (c.device->give_up_receive(recv, Errc::peer_lost)) return;
    }
    c.device->MPID_Poll(true, adi::awaited(recv));
  }
}

}  // namespace rmq::mpi::ft
