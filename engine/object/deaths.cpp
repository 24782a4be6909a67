// SPDX-License-Identifier: BSD-3-Clause
#include "engine/object/deaths.hpp"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "engine/ft/faults.hpp"
#include "engine/object/comm.hpp"
#include "engine/object/contexts.hpp"

namespace rmq::mpi {

std::string lost_text(int world_rank) {
  return fmt::format("world rank {} is lost: {}", world_rank, runtime().device->peer_error(world_rank));
}

int lost_class(int world_rank) {
  return error_class_of(runtime().device->loss(world_rank));
}

}  // namespace rmq::mpi

namespace rmq::mpi::ft {
namespace {

std::uint32_t context_of(const Comm& c) {
  return std::min(c.context, c.recv_context);
}

// In an inter-communicator both sides have to come to the same order. Numbers of processes are each one's own, so it is
// their names that decide.
Members members_of(const Comm& c) {
  if (!c.is_inter()) return {c.group->world, {}};
  const Process ours = c.device->process_of(c.group->world[0]), theirs = c.device->process_of(c.remote->world[0]);
  const bool first = std::pair(ours.job, ours.rank) < std::pair(theirs.job, theirs.rank);
  return first ? Members{c.group->world, c.remote->world} : Members{c.remote->world, c.group->world};
}

/// Ends what is under way on it, and all that comes.
void end_messages(Comm& c) {
  std::vector<std::uint32_t> own;
  for (Comm* const of : {&c, c.local}) {
    if (!of) continue;
    of->revoked = true;
    own.insert(own.end(), {of->context, of->recv_context});
  }
  c.device->revoke_contexts(contexts_of(own));
  makings_of(c).refuse();
}

Circle* look_up(std::uint32_t context, Rank member) {
  for (Comm* c = Comm::newest; c != nullptr; c = c->older) {
    const bool has_one = c == runtime().world || c == runtime().self || c->context != 0;
    const bool of_makings = context == context_of(*c) + kCollective;
    if (c->handle == MPI_COMM_NULL || !has_one || (context_of(*c) != context && !of_makings)) continue;
    if (of_makings ? c->circle && c->circle->makings() != nullptr : c->circle != nullptr) continue;
    if (members_of(*c).place_of(member) >= 0) return of_makings ? &makings_of(*c) : &circle_of(*c);
  }
  return nullptr;
}

}  // namespace

void start() {
  Runtime& rt = runtime();
  rt.ft = rt.device->is_fault_tolerant();
  rt.faults = new Faults(*rt.device);
  rt.faults->look_up = look_up;
}

void begin(Comm& c) {
  if (Faults* const faults = runtime().faults; faults && faults->has_early()) circle_of(c);
}

void end(Comm& c) {
  const bool alone = c.size() == 1 && !c.is_inter();
  if (!may_fail() || c.context == 0) return;
  if (alone || c.stillborn) {
    if (c.circle) runtime().faults->forget(c.circle);
    return;
  }
  circle_of(c);
  const std::shared_ptr<Circle> circle = c.circle;
  std::vector<std::uint32_t> own{std::exchange(c.context, 0)};
  if (c.local) own.push_back(std::exchange(c.local->context, 0));
  circle->on_over = [own] {
    if (!runtime().device->forget_contexts(contexts_of(own))) return;
    for (const std::uint32_t context : own) free_context(context);
  };
  runtime().faults->end(circle);
}

void keep_refusing(Comm& c) {
  circle_of(c).end_messages = nullptr;
  c.circle = nullptr;
  c.stillborn = true;
  c.context = 0;  // it is never given back
  if (c.local) c.local->context = 0;
  drop_handle(&c);
}

void leave_place(Comm& place) {
  if (place.circle) runtime().faults->end(std::exchange(place.circle, nullptr));
}

Circle& circle_of(Comm& c) {
  if (!c.circle) {
    c.circle = runtime().faults->make(context_of(c), members_of(c));
    c.circle->end_messages = [&c] { end_messages(c); };
    runtime().faults->begin(*c.circle);
  }
  return *c.circle;
}

Circle& makings_of(Comm& c) {
  Circle& circle = circle_of(c);
  if (!circle.makings()) {
    circle.set_makings(runtime().faults->make(circle.context() + kCollective, circle.members()));
    if (c.revoked) circle.makings()->refuse();
    runtime().faults->begin(*circle.makings());
  }
  return *circle.makings();
}

void fail_revoked(const Comm& c) {
  throw Failure{MPIX_ERR_REVOKED, "the communicator has been revoked (MPIX_Comm_revoke)", c.handle};
}

void check_whole(Comm& c) {
  check_not_revoked(c);
  if (!may_fail() || runtime().faults->dead().empty()) return;
  const Circle& circle = circle_of(c);
  if (!circle.failed().empty()) fail_call(MPIX_ERR_PROC_FAILED, lost_text(circle.members()[circle.failed().front()]));
}

std::string unacknowledged_text(const Circle& circle) {
  const Rank world = circle.members()[circle.failed()[circle.acknowledged()]];
  return fmt::format("{} (MPIX_Comm_failure_ack acknowledges it)", lost_text(world));
}

void check_acknowledged(Comm& c, int error_class) {
  if (!may_fail() || runtime().faults->dead().empty()) return;
  const Circle& circle = circle_of(c);
  if (circle.has_unacknowledged()) throw Failure{error_class, unacknowledged_text(circle), c.handle};
}

std::vector<std::uint64_t> agree_among_living(Comm& c, const std::vector<std::uint64_t>& words) {
  std::optional<Agreement::Value> value;
  circle_of(c).vote(words, [&](const Agreement::Value& agreed) { value = agreed; });
  while (!value) c.device->MPID_Poll(true);
  value->words.resize(words.size());
  return value->words;
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
