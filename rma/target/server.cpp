// SPDX-License-Identifier: BSD-3-Clause
#include "rma/target/server.hpp"

#include <algorithm>
#include <utility>

#include "rma/origin/signal.hpp"
#include "rma/packet/fields.hpp"

namespace rmq::rma {
namespace {

// Whether the lock flags make sense: a request names one kind of lock, an operation may bring one along, and nothing
// else has any.
bool may_lock(const Packet& p) {
  const int locks = p.flags & kLockFlags;
  const bool one = locks == rma_flag::lock_shared || locks == rma_flag::lock_exclusive;
  if (p.kind == Kind::RMA_LOCK) return one;
  const bool operation = p.kind != Kind::RMA_UNLOCK && p.kind != Kind::RMA_FLUSH && p.kind != Kind::RMA_SYNC;
  return locks == 0 || (one && operation);
}

// Nothing else waits for an origin that is slow to take its answers: others may wait for what it signals or unlocks.
bool wants_answer(const Packet& p) {
  switch (p.kind) {
    case Kind::RMA_SYNC:
    case Kind::RMA_UNLOCK:
      return false;
    case Kind::RMA_PUT:
    case Kind::RMA_ACCUMULATE:
    case Kind::RMA_PUT_LIST:
      return (p.flags & kLockFlags) != 0 || ticket_of(p) != 0;
    default:
      return true;
  }
}

}  // namespace

Origin& Server::origin(int rank) {
  Origin*& slot = origin_of_[rank];
  if (!slot) slot = origins_.emplace_back(std::make_unique<Origin>(*this, rank, core_.world(rank))).get();
  return *slot;
}

void Server::arrive(int from, const Packet& p, const std::byte* payload) {
  Origin& o = origin(from);
  const bool behind = wants_answer(p) && core_.domain.is_behind(o.world);
  if (!o.held.empty() || behind || !process(o, p, payload, false)) hold(o, p, payload);
  if (behind) resume_later(o);
}

// Keeps what has to wait. No origin of ours has more under way than a flight, and some small packets besides.
void Server::hold(Origin& o, const Packet& p, const std::byte* payload) {
  constexpr std::uint64_t kHeldMost = kFlightMost + kFlightMost / 4;
  if (o.held_bytes + p.length + kPacketCost > kHeldMost)
    return core_.domain.protocol_error(o.world, p, "it has more under way than it may");
  o.hold(p, payload);
  core_.domain.count().held_most = std::max(core_.domain.count().held_most, o.held_bytes);
}

// Goes on with what was kept; `locked`: the first of it has got its lock.
void Server::run(Origin& o, bool locked) {
  o.running = true;  // what is executed stays where it is, also when an answer shows that the origin is lost
  while (!o.held.empty()) {
    const Held& h = o.held.front();
    if (!locked && wants_answer(h.packet) && core_.domain.is_behind(o.world)) {
      resume_later(o);
      break;
    }
    if (!process(o, h.packet, h.payload.get(), locked)) break;
    locked = false;
    o.drop_first();
  }
  o.running = false;
  if (o.lost) o.drop_all();
}

void Server::resume_later(Origin& o) {
  if (!std::exchange(o.behind, true)) core_.domain.resume_later(*this, o);
}

void Server::resume(Origin& o) {
  o.behind = false;
  if (o.lock != Origin::Lock::waiting && o.missing == 0) run(o, false);  // else whoever ends that wait goes on
}

void Server::retry_type(int from, std::uint32_t id) {
  Origin& o = origin(from);
  if (o.missing != id) return;
  o.missing = 0;
  if (o.lock != Origin::Lock::waiting) run(o, o.lock == Origin::Lock::held);
}

// Executes a packet; false when it has to wait.
bool Server::process(Origin& o, const Packet& p, const std::byte* payload, bool locked) {
  if (!may_lock(p)) {
    core_.domain.protocol_error(o.world, p, "it may not ask for a lock like this");
    return true;
  }
  if ((p.flags & kLockFlags) != 0 && !locked) {
    if (o.lock == Origin::Lock::leaving) return false;  // on_answer_left() goes on
    if (o.lock != Origin::Lock::none) {
      core_.domain.protocol_error(o.world, p, "it asks for a lock that it has, or waits for");
      return true;
    }
    if (!take_lock(o, p)) return false;
  }
  switch (p.kind) {
    case Kind::RMA_LOCK:
      answer_lock(o, Fault::none, kNoRank);
      return true;
    case Kind::RMA_UNLOCK:
    case Kind::RMA_FLUSH:
      if (p.kind == Kind::RMA_UNLOCK) lock_.release_for(o);
      if (ticket_of(p) != 0) executor_.acknowledge(o, ticket_of(p), Fault::none);
      return true;
    case Kind::RMA_SYNC:
      if (!signalled(core_, sender_, o.rank, p))
        core_.domain.protocol_error(o.world, p, "it signals nothing that there is");
      return true;
    default:
      return executor_.execute(o, p, payload);
  }
}

bool Server::land(int from, const Packet& p, methods::Landing& landing) {
  Origin& o = origin(from);
  if (p.kind != Kind::RMA_PUT || !o.held.empty() || (p.flags & kLockFlags) != 0) return false;
  DataView view;
  if (!executor_.may_land(o, p, view)) return false;
  landing.into = view;
  landing.offset = p.rma_put.at;
  landing.bytes = p.length;
  if (view.layout) {  // the cache may forget it meanwhile
    landing.owner = core_.device().MPID_Request_create(RequestKind::other);
    view.layout->retain();
    landing.owner->layout = LayoutRef(view.layout);
  }
  return true;
}

// ---- answers that are read from window memory ----

void Origin::watch(Request* answer) {
  ++answers;
  answer->user = this;
  answer->on_complete = &Server::on_answer_left;
}

// An origin whose window has ended lives until its last answer has left.
void Server::on_answer_left(Request* answer) {
  Origin* const o = static_cast<Origin*>(answer->user);
  Server* const server = o->server;
  if (!server) {
    if (--o->answers == 0) delete o;
    return;
  }
  server->lock_.answer_left(*o);
  if (!o->held.empty()) server->resume_later(*o);
}

Server::~Server() {
  for (auto& o : origins_) {
    o->server = nullptr;
    if (o->answers > 0) static_cast<void>(o.release());
  }
}

// ---- the lock ----

// Whether the origin has the lock now; else serve_locks() goes on with it.
bool Server::take_lock(Origin& o, const Packet& p) {
  const LockType type = (p.flags & rma_flag::lock_shared) != 0 ? LockType::shared : LockType::exclusive;
  if (lock_.take_for(o, type, p.kind == Kind::RMA_LOCK && (p.flags & kInLine) != 0)) return true;
  core_.domain.serve_locks_of(*this, true);
  return false;
}

int Server::serve_locks() {
  int served = 0;
  const int broken = lock_.broken_by(core_.me);
  std::size_t from = 0;
  while (Origin* const o = lock_.next(from, broken >= 0)) {
    ++served;
    if (o->lost)
      lock_.release_for(*o);  // its turn has come too late
    else if (o->lock == Origin::Lock::held)
      run(*o, true);
    else
      refuse_lock(*o, core_.world(broken));
  }
  if (!lock_.has_waiting()) core_.domain.serve_locks_of(*this, false);
  return served;
}

void Server::answer_lock(const Origin& o, Fault fault, Rank culprit) {
  Packet p = core_.packet(Kind::RMA_LOCK_GRANTED);
  p.rma_lock_granted = {static_cast<std::uint32_t>(fault), core_.name_of(culprit)};
  if (lock_.has_writers(o)) p.flags = kWriters;
  core_.device().send_packet(o.world, p, Payload{}, nullptr);
}

// The lock that its first kept packet asks for will never be free.
void Server::refuse_lock(Origin& o, Rank culprit) {
  if (o.held.empty()) return;
  const Packet p = o.held.front().packet;
  o.drop_first();
  if (p.kind == Kind::RMA_LOCK)
    answer_lock(o, Fault::peer_lost, culprit);
  else
    executor_.acknowledge(o, ticket_of(p), Fault::peer_lost, culprit);
  run(o, false);
}

void Server::peer_lost(int rank) {
  Origin* const o = origin_of_[rank];
  if (!o) return;
  o->lost = true;
  o->drop_all();
  lock_.release_for(*o);
}

}  // namespace rmq::rma
