#include "mpi/ft/failures.hpp"

#include <fmt/format.h>

#include "mpi/ft/faults.hpp"
#include "mpi/internal/partitioned.hpp"
#include "mpi/internal/point.hpp"

namespace rmq::mpi::ft {
namespace {

std::uint32_t context_of(const Comm& c) {
  return std::min(c.context, c.recv_context);
}

// In an inter-communicator both sides have to come to the same order.
Members members_of(const Comm& c) {
  if (!c.is_inter()) return {c.group->world, {}};
  const bool first = c.context != c.recv_context ? c.context < c.recv_context : c.group->world[0] < c.remote->world[0];
  return first ? Members{c.group->world, c.remote->world} : Members{c.remote->world, c.group->world};
}

/// Ends what is under way on it, and all that comes.
void end_messages(Comm& c) {
  std::vector<std::uint32_t> contexts;
  const auto add = [&](Comm& of) {
    of.revoked = true;
    for (const std::uint32_t context : {of.context, of.recv_context}) {
      contexts.push_back(context);
      contexts.push_back(context + kCollective);
    }
  };
  add(c);
  if (c.local) add(*c.local);
  c.device->MPID_Revoke(
      contexts,
      [](const Request& r, const void* comm) {
        return r.kind != RequestKind::other && Partitioned::comm_of(r) == comm;
      },
      &c);
}

Circle* look_up(std::uint32_t context, Rank member) {
  for (Comm* c = Comm::newest; c != nullptr; c = c->older) {
    const bool has_one = c == runtime().world || c == runtime().self || c->context != 0;
    if (c->handle == MPI_COMM_NULL || !has_one || c->circle || context_of(*c) != context) continue;
    if (members_of(*c).place_of(member) >= 0) return &circle_of(*c);
  }
  return nullptr;
}

std::string failed_text(const Circle& circle) {
  const Rank world = circle.members()[circle.failed()[circle.acknowledged()]];
  return fmt::format("{} (MPIX_Comm_failure_ack acknowledges it)", lost_text(world));
}

}  // namespace

void start() {
  Runtime& rt = runtime();
  rt.ft = rt.device->MPID_Faults();
  rt.faults = new Faults(*rt.device);
  rt.faults->look_up = look_up;
}

void begin(Comm& c) {
  if (Faults* const faults = runtime().faults; faults && faults->has_early()) circle_of(c);
}

void end(Comm& c) {
  if (c.circle && runtime().faults->end(c.circle)) {
    c.littered = true;
    if (c.local) c.local->littered = true;
  }
}

Circle& circle_of(Comm& c) {
  if (!c.circle) {
    c.circle = runtime().faults->make(context_of(c), members_of(c));
    c.circle->end_messages = [&c] { end_messages(c); };
    runtime().faults->begin(*c.circle);
  }
  return *c.circle;
}

void fail_revoked(const Comm& c) {
  throw Failure{MPIX_ERR_REVOKED, "the communicator has been revoked (MPIX_Comm_revoke)", c.handle};
}

void check_acknowledged(Comm& c, int error_class) {
  if (!may_fail() || runtime().faults->dead().empty()) return;
  const Circle& circle = circle_of(c);
  if (circle.has_unacknowledged()) throw Failure{error_class, failed_text(circle), c.handle};
}

bool waits_for_failed_member(const Request& r) {
  if (runtime().faults->dead().empty()) return false;
  const Request* const recv = r.kind == RequestKind::other ? activity_of(r)->receive() : &r;
  if (!recv || recv->kind != RequestKind::recv || recv->step != Step::posted || recv->match.source != kAnySource)
    return false;
  return circle_of(*comm_of(r)).has_unacknowledged();
}

Failure pending_failure(const Request& r) {
  Comm& c = *comm_of(r);
  return {MPIX_ERR_PROC_FAILED_PENDING, failed_text(circle_of(c)), c.handle};
}

void await_from_any(Comm& c, Request* recv) {
  while (!recv->complete()) {
    if (waits_for_failed_member(*recv)) {
      const Circle& circle = circle_of(c);
      recv->peer = circle.members()[circle.failed()[circle.acknowledged()]];  // whom the error names
      if (c.device->MPID_Give_up(recv, Errc::peer_lost)) return;
    }
    c.device->MPID_Poll(true, adi::awaited(recv));
  }
}

void meet_living(Comm& c) {
  bool over = false;
  circle_of(c).vote({}, [&](const Agreement::Value&) { over = true; });
  while (!over) c.device->MPID_Poll(true);
}

bool meet_living(bool go_on) {
  Runtime& rt = runtime();
  for (;;) {
    bool more = go_on;
    const auto all = rt.bootstrap->try_fence(more);
    if (!all) fail_call(error_class_of(all.error().code), all.error().what);
    if (*all) return more;
    rt.device->MPID_Poll(true);
  }
}

}  // namespace rmq::mpi::ft
