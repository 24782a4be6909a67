// SPDX-License-Identifier: BSD-3-Clause
// The way to one target that is reached by packets: in which epoch it is, whether the lock or a post has to come first,
// when its operations leave and with which flags, and which completions wait for them. What went wrong at the target is
// kept for the call that flushes, or ends the epoch. The operations themselves are its stream's
// (rma/origin/op_stream.hpp).
//
// Sender makes one for each target when it is needed, brings operations and completions; Domain brings what the target
// answers. It lives as long as its window. The protocol: channel.cpp.
#pragma once

#include <cstdint>
#include <utility>

#include "base/packet/request.hpp"
#include "base/rank.hpp"
#include "rma/core/fault.hpp"
#include "rma/core/options.hpp"
#include "rma/core/tickets.hpp"
#include "rma/core/window_core.hpp"
#include "rma/origin/op_stream.hpp"

namespace rmq::rma {

/// How far a call that completes operations waits.
enum class Until : std::uint8_t {
  local,   // their origin memory is free, their results are here
  remote,  // they have been executed at the target as well
  unlock,  // and it has, or will have, the lock back
};

/// The completion of what was issued to one target before a call, whatever other threads issue meanwhile: what flush,
/// unlock, complete and fence wait for. What went wrong with it, the channel tells (Channel::take_fault).
struct Completion {
  Channel* channel = nullptr;  // null: nothing was ever issued to this target
  std::uint64_t number = 0;    // of the last operation, once it has one
  Until until = Until::local;
  bool counted = false;   // by Channel::begin
  bool draining = false;  // by Channel::begin_drain
};

class Channel {
 public:
  enum class State : std::uint8_t {
    closed,    // no epoch
    failed,    // it cannot be gone on with: the target is lost, or the holder of its lock
    unlocked,  // the lock is needed and not asked for
    asked,     // the lock is asked for, or rides with an operation that is under way
    unposted,  // the target has not posted yet
    open,      // operations may leave
  };

  /// A member as packets name it: WindowCore::named().
  Rank named(std::uint32_t name) const { return core_.named(name); }
  bool is_name(std::uint32_t name) const { return core_.is_name(name); }
  Channel(WindowCore& core, int rank)
      : core_(core),
        rank_(rank),
        to_(core.world(rank)),
        stream_(core, *this, to_),
        in_order_(core.options.hints.in_order) {}
  ~Channel() {
    if (deferred_) core_.domain.forget_push(*this);
  }
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  int rank() const { return rank_; }
  Rank to() const { return to_; }
  State state() const { return state_; }
  /// Nothing is under way, and nothing can be.
  bool is_closed() const { return state_ == State::closed || state_ == State::failed; }
  const WindowCore& core() const { return core_; }
  bool is_of(const WindowCore& window) const { return &core_ == &window; }
  OpStream& stream() { return stream_; }

  // ---- epochs ----
  /// The access epoch that is open here begins for this target, unless it has. Whether it is the first since close().
  bool begin_epoch();
  /// One of lock().
  void begin_lock(LockType type, bool nocheck);
  /// One of `several` locks of this rank, or a shared one where others want the lock exclusively: *waits* until it is
  /// held. Fault::peer_lost when it never will be, and the epoch has not begun.
  Fault stand_in_line(bool several);
  /// Asks for the lock, unless that has been done.
  void want_lock();
  /// The target has posted, or nobody asks.
  void open() { state_ = State::open; }
  void close();

  // ---- operations ----
  /// Takes the operation. On Fault::none `request`, if any, is the caller's. *Waits* when too many are queued.
  Fault issue(Op* op, Request** request);
  /// Sends what may leave by now.
  void pump();
  /// This rank polls: what is queued does not wait for company any longer, but for a lock, a post or room. What a call
  /// completes is left to that call, which knows the last.
  void push() {
    deferred_ = false;
    if (is_closed() || stream_.is_empty() || completing_ > 0) return;
    urgent_ = true;
    pump();
  }

  // ---- completion: begin, lead_out, drain until it says true, end ----
  /// Completions are kept for later: from now on operations leave, and are numbered, as they were issued.
  void keep_order() { in_order_ = true; }
  Completion completion(Until until) { return {this, is_closed() ? 0 : stream_.last_number(), until}; }
  /// From here on what is queued keeps its order.
  void begin(Completion& completion);
  /// A single short operation takes the request for the lock with it, else the lock is asked for.
  void lead_out(const Completion& completion);
  /// Whether neither the lock nor a post has to come before what is still queued may leave.
  bool may_drain(const Completion& completion);
  /// From here on what is queued leaves as soon as it can.
  void begin_drain(Completion& completion);
  /// Sends what may leave of it, the last with the unlock and, if `asks`, with the wish for an acknowledgement. Whether
  /// all is complete; else it is to be called again. The caller gathers (Device::Together).
  bool drain(const Completion& completion, bool asks);
  bool is_complete(const Completion& completion) const;
  void end(const Completion& completion);
  /// The first fault that has come up and was not reported; that the lock cannot be had, again until the epoch's end.
  Fault take_fault();

  // ---- what the target says ----
  void lock_answered(Fault fault, Rank culprit);
  /// Whether others hold the lock exclusively or wait for that.
  void note_writers(bool has) { writers_ = has; }
  /// A part of the answer is there, or (`fault`, which is about `culprit`) the next piece has none.
  void answer_arrived(Op* op, std::uint64_t bytes, Fault fault, Rank culprit = kNoRank);
  /// All data of the answer is there, or there is none for a reason.
  void answered(Op* op, Fault fault, Rank culprit = kNoRank);
  /// An acknowledgement of everything that the ticket stands for.
  void acknowledgement_arrived(const Ticket& ticket, Fault fault, Rank culprit);
  void note_fault(Fault fault, Rank culprit);
  /// There is a ticket again.
  void fed();
  /// Nothing more comes from this target. Whether something was under way.
  bool lost();

 private:
  void ask_for_lock(std::uint8_t flags = 0);
  void granted();
  /// What is queued may wait for company, but not longer than until this rank polls.
  void push_later() {
    if (!std::exchange(deferred_, true)) core_.domain.push_later(*this);
  }
  void drain_queue(const Completion& completion, bool asks);
  void acknowledged(std::uint64_t number, std::uint64_t position, Fault fault, Rank culprit);
  void abandon(Fault fault);
  /// Says who is lost.
  Fault lost_because_of(Rank culprit);

  WindowCore& core_;
  const int rank_;
  const Rank to_;
  OpStream stream_;
  State state_ = State::closed;
  LockType type_ = LockType::shared;
  bool used_ = false;             // since close()
  bool locks_ = false;            // a lock belongs to the epoch: it must be released
  bool urgent_ = false;           // what is queued is not to wait: a request-based operation, or push()
  bool deferred_ = false;         // push_later(), and not pushed since
  bool in_order_;                 // keep_order(), or as the window says
  bool writers_ = false;          // note_writers()
  std::uint64_t rider_ = 0;       // number of the operation that carries the request for the lock; 0: none under way
  std::uint32_t completing_ = 0;  // calls that have a completion, draining already or not
  std::uint32_t draining_ = 0;    // calls that wait for what is queued to leave
  Fault fault_ = Fault::none;     // the first that has come up and was not reported
  Rank culprit_ = kNoRank;        // that it is about
  Rank gone_ = kNoRank;           // why the epoch has failed, if not for the target
};

}  // namespace rmq::rma
