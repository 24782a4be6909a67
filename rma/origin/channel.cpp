// SPDX-License-Identifier: BSD-3-Clause
// When operations leave for a target that is reached by packets, and which of them carry lock, unlock and the wish for
// an acknowledgement. The protocol of passive target:
//
//   origin                                          target
//   lock, put, unlock, put short:
//     PUT [lock, unlock, ack] ------------------->  takes the lock, or queues the packet; puts; unlocks
//                             <-------------------  ACK
//   more than that:
//     LOCK ---------------------------------------> takes the lock, or queues the packet
//                             <-------------------  LOCK_GRANTED
//     PUT, PUT, GET [unlock] --------------------->  a get goes last, for its answer acknowledges what was before it
//                             <-------------------  REPLY
//
// Operations are queued until the lock is held; then a few short ones still are, so that they leave together, and the
// latest until the next call shows whether it is the last. None waits for that longer than until the origin polls: a
// program may wait, in whatever call, for what another rank does when it sees the operation's data. Acknowledgements
// count: each says that everything up to a number has been done.
#include "rma/origin/channel.hpp"

#include <algorithm>
#include <utility>

#include "rma/packet/fields.hpp"
#include "rma/packet/put_list.hpp"

namespace rmq::rma {
namespace {

constexpr std::uint64_t kRideMost = 8 * 1024;  // bytes that may travel, and wait, with a request for the lock
constexpr std::uint64_t kLagMost = 8 * 1024;   // bytes of operations that wait for others, or for a flag to carry
constexpr std::uint32_t kLagging = 128;        // how many of them
// Operations that may be queued for a target: whoever issues more waits until half of them have left.
constexpr std::uint32_t kQueuedMost = 4096;
constexpr std::uint32_t kQueueMost = 256;  // operations that wait before the lock is asked for
// The same for lists of puts, which have memory of their own: half a megabyte of it.
constexpr std::uint32_t kListsMost = 64;
static_assert(kListMost >= kLagMost, "a list leaves when it is full: with the first put of the next it is too much");

std::uint8_t lock_flag(LockType type) {
  return type == LockType::shared ? rma_flag::lock_shared : rma_flag::lock_exclusive;
}

}  // namespace

// ---- epochs ----

bool Channel::begin_epoch() {
  const bool first = !std::exchange(used_, true);
  if (state_ != State::closed) return first;
  locks_ = false;
  if (core_.lock_all && !core_.nocheck_all)
    begin_lock(LockType::shared, false);
  else if (core_.accessing && !core_.has_posted(rank_))
    state_ = State::unposted;
  else
    state_ = State::open;
  return first;
}

void Channel::begin_lock(LockType type, bool nocheck) {
  type_ = type;
  locks_ = !nocheck;
  state_ = nocheck ? State::open : State::unlocked;
}

// Who comes out of lock() before it has the lock may have others wait for it, so it goes in with the readers that a
// writer waits for. Readers that come again and again would keep that writer out for ever. So they wait here while
// there is one: nobody counts on them then, and they stand behind it.
Fault Channel::stand_in_line(bool several) {
  const bool shared = type_ == LockType::shared;
  if (!locks_ || !(several || (writers_ && shared)) || core_.is_lost(rank_)) return Fault::none;
  ask_for_lock(shared ? kInLine : 0);
  core_.wait_until({WaitFor::What::lock, rank_}, [&] { return state_ != State::asked; });
  return is_closed() ? take_fault() : Fault::none;
}

void Channel::want_lock() {
  if (state_ == State::unlocked && !core_.is_lost(rank_)) ask_for_lock();
}

void Channel::close() {
  core_.domain.forget_lone_lock(*this);
  state_ = State::closed;
  rider_ = 0;
  locks_ = urgent_ = used_ = false;
}

// ---- operations ----

Fault Channel::issue(Op* op, Request** request) {
  if (op->type && op->type->bytes > core_.facts[rank_].type_bytes) {
    stream_.refuse(op);
    return Fault::definition;
  }
  if (state_ == State::failed || core_.is_lost(rank_)) {
    stream_.refuse(op);
    return lost_because_of(state_ == State::failed ? gone_ : kNoRank);
  }
  if (request) {
    *request = op->request = core_.device().MPID_Request_create(RequestKind::other);
    op->request->incomplete.store(1, std::memory_order_relaxed);  // nobody else knows it yet
    urgent_ = true;
  }
  stream_.push(op);
  pump();
  if (!stream_.is_empty()) push_later();
  if (stream_.queued() > kQueuedMost || stream_.lists() > kListsMost) [[unlikely]] {
    core_.wait_until({WaitFor::What::operations, rank_}, [&] {
      pump();
      return stream_.queued() <= kQueuedMost / 2 && stream_.lists() <= kListsMost / 2;
    });
  }
  return Fault::none;
}

void Channel::pump() {
  if (state_ == State::unlocked &&
      (urgent_ || stream_.queued_bytes() > core_.device().config().rma_queue || stream_.queued() > kQueueMost)) {
    return ask_for_lock();
  }
  if (state_ == State::unposted && core_.has_posted(rank_)) state_ = State::open;
  if (state_ != State::open || stream_.is_empty()) return;
  const bool under_way = stream_.first().number != 0, all = urgent_ || draining_ > 0;
  const bool small =
      stream_.queued() <= kLagging && stream_.queued_bytes() <= kLagMost && stream_.last().bytes <= kLagMost;
  if (!all && small && !under_way) return;
  const adi::Device::Together together(core_.device(), to_);
  // A completion counts what is queued in its order.
  if (!all && completing_ == 0 && !in_order_) stream_.keep_get_for_last(kLagMost);
  while (!stream_.is_empty()) {
    if (stream_.copy()) continue;
    const Op& first = stream_.first();
    const bool waits = !all && &first == &stream_.last() && first.bytes <= kLagMost && first.number == 0;
    if (waits || !stream_.send(0)) return;
  }
  urgent_ = false;
}

// ---- the lock ----

void Channel::ask_for_lock(std::uint8_t flags) {
  state_ = State::asked;
  Packet p = core_.packet(Kind::RMA_LOCK);
  p.flags = static_cast<std::uint8_t>(lock_flag(type_) | flags);
  core_.device().send_packet(to_, p, Payload{}, nullptr);
}

void Channel::granted() {
  state_ = State::open;
  rider_ = 0;
  pump();
}

void Channel::lock_answered(Fault fault, Rank culprit) {
  if (state_ != State::asked || rider_ != 0) return;
  if (fault == Fault::none) return granted();
  culprit_ = culprit;
  abandon(fault);
}

// ---- completion ----

void Channel::begin(Completion& completion) {
  completion.counted = true;
  ++completing_;
}

void Channel::lead_out(const Completion& completion) {
  if (state_ != State::unlocked || stream_.is_empty()) return;
  const bool unlock = completion.until == Until::unlock;
  if (!stream_.leaves_at_once(std::min<std::uint64_t>(kRideMost, core_.device().fragment_max(to_))))
    return ask_for_lock();
  state_ = State::asked;
  rider_ = stream_.first_number();
  if (unlock) locks_ = false;  // nothing will be left to release
  stream_.send(static_cast<std::uint8_t>(lock_flag(type_) | rma_flag::ack | (unlock ? rma_flag::unlock : 0)));
}

bool Channel::may_drain(const Completion& completion) {
  pump();  // a post may have come through shared memory
  // Nothing of it is queued: the lock may be one that another thread waits for.
  if (completion.until != Until::unlock && is_complete(completion)) return true;
  // A rider that is all there is needs no more than its own answer.
  const bool alone = rider_ != 0 && stream_.is_empty() && !(completion.until == Until::unlock && locks_);
  return alone || (state_ != State::asked && state_ != State::unposted);
}

void Channel::begin_drain(Completion& completion) {
  completion.draining = true;
  ++draining_;
}

bool Channel::drain(const Completion& completion, bool asks) {
  if (state_ == State::open) drain_queue(completion, asks);
  return is_complete(completion);
}

// Where the flight is full, the rest leaves as answers come, and what the flags would have said is said by a packet of
// its own.
void Channel::drain_queue(const Completion& completion, bool asks) {
  const std::uint64_t number = completion.number;
  const bool unlocks = completion.until == Until::unlock;
  // Only among what the completion covers, and where nobody else has one: what was issued behind a completion must not
  // come before what it waits for.
  if (!in_order_ && (unlocks || asks) && completing_ <= 1 && draining_ == 0 && number == stream_.last_number())
    stream_.keep_get_for_last(UINT64_MAX);
  const auto release = [&] { return unlocks && locks_; };
  while (!stream_.is_empty() && stream_.first_number() <= number) {
    if (stream_.copy()) continue;
    const bool last = stream_.first().number == 0 && stream_.first_number() == number;
    const auto flags = static_cast<std::uint8_t>((release() ? rma_flag::unlock : 0) | (asks ? rma_flag::ack : 0));
    const bool whole = stream_.send(last ? flags : 0);
    if (last && unlocks && stream_.has_started(number)) locks_ = false;
    if (!whole) return;
  }
  if (state_ != State::open) return;  // a packet has shown that the target is lost
  if (stream_.is_empty()) urgent_ = false;
  // Nobody waits for the acknowledgement of a bare unlock before the window's end, unless it stands for those of
  // others.
  if (release() && core_.domain.tickets().has_one()) {
    locks_ = false;
    stream_.unlock();
  } else if (!release() && asks) {
    stream_.ask_for(number);
  }
}

bool Channel::is_complete(const Completion& completion) const {
  if (is_closed()) return true;
  if (completion.until == Until::unlock && locks_ && state_ == State::open) return false;
  return stream_.is_done(completion.number, completion.until != Until::local);
}

void Channel::end(const Completion& completion) {
  if (completion.draining) --draining_;
  if (completion.counted) --completing_;
  if (completing_ == 0 && !stream_.is_empty()) push_later();  // another thread's
}

Fault Channel::take_fault() {
  // The target lives, and what was done to it meanwhile, without its lock, is nothing.
  if (state_ == State::failed && fault_ == Fault::none && gone_ != kNoRank) return lost_because_of(gone_);
  const Rank culprit = std::exchange(culprit_, kNoRank);
  const Fault fault = std::exchange(fault_, Fault::none);
  return fault == Fault::peer_lost ? lost_because_of(culprit) : fault;
}

Fault Channel::lost_because_of(Rank culprit) {
  const int holder = culprit == kNoRank ? -1 : core_.member(culprit);
  return core_.lost_because_of(holder < 0 ? rank_ : holder, holder < 0 ? "" : ", and held the lock of a window");
}

// ---- what the target says ----

void Channel::answer_arrived(Op* op, std::uint64_t bytes, Fault fault, Rank culprit) {
  if (stream_.arrived(op, bytes, fault)) return answered(op, op->fault, culprit);
  pump();
}

void Channel::answered(Op* op, Fault fault, Rank culprit) {
  const Ticket ticket = stream_.answered(op, fault);
  const bool told = op->request && fault != Fault::peer_lost;  // by the request
  acknowledged(op->number, ticket.position, told ? Fault::none : fault, culprit);
  stream_.part_done(op);
}

void Channel::acknowledgement_arrived(const Ticket& ticket, Fault fault, Rank culprit) {
  stream_.acknowledgement_came();
  acknowledged(ticket.number, ticket.position, fault, culprit);
}

void Channel::acknowledged(std::uint64_t number, std::uint64_t position, Fault fault, Rank culprit) {
  stream_.settle(number, position);
  if (fault != Fault::none) note_fault(fault, culprit);
  if (rider_ != 0 && number >= rider_ && state_ == State::asked) {
    // Of what the rider did, the lock alone may have failed for a loss: then it is not held.
    return fault == Fault::peer_lost ? abandon(fault) : granted();
  }
  pump();
}

void Channel::note_fault(Fault fault, Rank culprit) {
  if (fault_ != Fault::none) return;
  fault_ = fault;
  culprit_ = culprit;
}

void Channel::fed() {
  stream_.fed();
  pump();
}

bool Channel::lost() {
  const bool under_way = stream_.is_open_ended();
  abandon(Fault::peer_lost);
  return under_way;
}

// An epoch that goes on would go on without its lock, or wait for an answer that never comes.
void Channel::abandon(Fault fault) {
  note_fault(fault, culprit_);
  if (used_) state_ = State::failed;
  gone_ = culprit_;
  rider_ = 0;
  urgent_ = false;
  stream_.end(fault);
}

}  // namespace rmq::rma
