// The origin's side of a window: operations that travel by packets, one channel to each target. How they are made, sent
// and finished is origin.cpp, when they leave channel.cpp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "base/layout.hpp"
#include "base/request.hpp"
#include "rma/apply.hpp"
#include "rma/datatypes.hpp"
#include "rma/fault.hpp"
#include "rma/window_state.hpp"

namespace rmq::rma {

class Sender;

/// An operation that travels by packets: queued, or sent and not finished.
struct Op {
  Op* next = nullptr;
  Sender* sender = nullptr;
  int target = 0;
  int pending = 0;         // things that must happen: all pieces have been sent, the data has left, the answer has come
  bool replies = false;    // the answer brings data
  std::uint8_t flags = 0;  // of the last piece
  Packet packet;           // of the first piece, without flags
  DataView data;           // at the origin, to be sent
  DataView result;         // at the origin, to be filled
  std::uint64_t bytes = 0;    // of the target's data, packed
  std::uint64_t sent = 0;     // of these, brought or asked for by pieces so far
  std::uint64_t arrived = 0;  // of the result
  std::uint64_t number = 0;   // on its channel; 0: no piece has left
  std::uint64_t begin = 0;    // of its channel's position when it started
  std::uint64_t unit = 1;     // pieces end on multiples of this
  std::uint64_t piece = 0;    // bytes of each piece but the last
  std::uint32_t ticket = 0;
  Fault fault = Fault::none;
  Op *older = nullptr, *newer = nullptr;  // of those that have started and are not finished
  Request* carrier = nullptr;             // watches the data leave; while pieces are still to be sent
  Request* request = nullptr;             // the caller's, of a request-based form
  TypeOut* type = nullptr;                // the target's datatype, when it must be named
  std::array<LayoutRef, 2> layouts;       // keep data and result alive
  std::array<std::byte, 16> words{};      // data of compare-and-swap: comparand and new value
};

/// A datatype that operation `number` of a channel names: its target may ask for it again until the operation is done.
struct NamedType {
  std::uint64_t number = 0;
  TypeOut* type = nullptr;
};

/// What a call that drains a channel waits for: the operations that were issued before it, whatever other threads issue
/// meanwhile.
struct Goal {
  int rank = 0;
  std::uint64_t number = 0;  // of the last of them, once it has one
  bool counted = false;      // in Channel::settling
  bool draining = false;     // counted in Channel::draining
};

/// The way to a target that is reached by packets.
struct Channel {
  enum class State : std::uint8_t {
    closed,    // no epoch
    unlocked,  // the lock is needed and not asked for
    asked,     // the lock is asked for, or rides with an operation that is under way
    unposted,  // the target has not posted yet
    open,      // operations may leave
  };
  int rank = 0;
  Rank to = kNoRank;
  State state = State::closed;
  LockType type = LockType::shared;
  bool locks = false;                       // a lock belongs to the epoch: it must be released
  bool busy = false;                        // listed in Sender::busy_
  bool urgent = false;                      // a request-based operation is queued
  bool starved = false;                     // listed in Domain::starved_
  std::uint32_t settling = 0;               // calls that have a goal, draining already or not
  std::uint32_t draining = 0;               // calls that wait for what is queued to leave
  Op *head = nullptr, *tail = nullptr;      // queued; the first may have started
  std::uint32_t queued = 0;                 // that have not started
  std::uint64_t queued_bytes = 0;           // of their data
  Op *oldest = nullptr, *newest = nullptr;  // started, not finished here
  std::uint64_t sent = 0;                   // operations that have started, and bare unlocks, so far
  std::uint64_t acked = 0;                  // of those, done at the target
  std::uint64_t asked_to = 0;               // an acknowledgement of this one, and all before, is on its way
  std::uint32_t asks = 0;                   // acknowledgements that are on their way
  std::uint32_t answers = 0;                // operations whose data is still to come
  std::uint64_t rider = 0;  // number of the operation that carries the request for the lock; 0: none under way
  // The flight: bytes of packets, and of the answers they ask for, from the start of the window on.
  std::uint64_t position = 0;        // sent
  std::uint64_t settled = 0;         // of those, known to be dealt with at the target
  std::uint64_t asked_position = 0;  // an answer that settles everything up to here is on its way
  std::deque<NamedType> types;       // that operations which have started name, until they are known to be done
  std::uint32_t typed = 0;           // of these, and of the queue
  Fault fault = Fault::none;         // the first that has come up and was not reported
  Rank culprit = kNoRank;            // that it is about
};

class Sender {
 public:
  explicit Sender(WindowState& w) : w_(w), channels_(w.members) {}
  ~Sender();
  Sender(const Sender&) = delete;
  Sender& operator=(const Sender&) = delete;
  /// Largest definition of a datatype that each member keeps, in the order of their places; bytes.
  void know_type_bytes(std::uint64_t bytes) { type_bytes_.push_back(bytes); }

  // ---- operations: origin.cpp ----
  Op* make(Kind kind, const Target& target, std::uint64_t offset, const DataView* data, const DataView* result);
  Op* make_combining(Kind kind, const Target& target, std::uint64_t offset, ReduceOp op, const Element& element,
                     const DataView* data, const DataView* result);
  /// Takes the operation over. May *wait* for room. With `request`, it is the caller's to wait for.
  Fault issue(Op* op, Request** request);

  // ---- epochs: channel.cpp ----
  /// The channel to a target, for the epoch that is open.
  Channel& channel(int rank);
  /// The same when it has been made, or nullptr; and where operations were issued in the epoch that is open.
  const Channel* find(int rank) const { return channels_[static_cast<std::size_t>(rank)].get(); }
  Channel* in_use(int rank) const;
  Channel& of(const Goal& goal) { return *channels_[static_cast<std::size_t>(goal.rank)]; }
  /// Whether there are channels in use.
  bool is_busy() const { return !busy_.empty(); }
  /// What flush, unlock, fence and complete wait for: all that has been issued to a target; to all of them.
  Goal goal_of(int rank) const;
  std::vector<Goal> goals() const;
  /// Everything up to the goal leaves, as far as it can, the last of it with these flags; again until is_settled(). The
  /// caller gathers (Device::Together).
  void drain(Channel& c, const Goal& goal, bool unlock, bool asks);
  /// Whether all up to the goal is done here, and, `remote`, at the target.
  bool is_settled(const Channel& c, const Goal& goal, bool remote) const;
  /// Flush, or unlock: *waits* for all of these targets at the same time.
  Fault settle(std::span<Goal> goals, bool unlock, bool remote);
  /// Its epoch is over, and its target's synchronisation speaks for what it has executed.
  void close_synchronised(Channel& c);
  /// The first fault that was not reported; none is kept.
  Fault take_fault(Channel& c);
  /// *Waits* until no answer is under way.
  void finish_all();
  /// The target has posted.
  void posted(int rank);

  // ---- what comes back, for the domain ----
  void lock_answered(int rank, Fault fault, Rank culprit);
  /// Everything up to operation `number`, and to `position`, is done at the target.
  void acknowledged(int rank, std::uint64_t number, std::uint64_t position, Fault fault, Rank culprit);
  /// The same, by an acknowledgement that was asked for.
  void flushed(int rank, std::uint64_t number, std::uint64_t position, Fault fault, Rank culprit);
  /// A part of the answer is there, or (`fault`) the next piece has none; and all of it is.
  void answer_arrived(Op* op, std::uint64_t bytes, Fault fault);
  void answered(Op* op, Fault fault);
  void note_fault(int rank, Fault fault, Rank culprit);
  /// A ticket is free again.
  void feed(int rank);
  /// True: something was under way to it.
  bool peer_lost(int rank);
  Rank world(int rank) const { return w_.world(rank); }

 private:
  void pump(Channel& c);
  bool send(Channel& c, std::uint8_t flags);
  bool start(Channel& c, Op* op, std::uint8_t flags);
  static bool has_room(const Channel& c, std::uint64_t bytes);
  std::uint64_t piece_of(const Op& op) const;
  void send_piece(Channel& c, Op* op, std::uint64_t bytes);
  bool ask(Channel& c);
  static void on_data_left(Request* carrier);
  void part_done(Op* op);
  void keep_get_for_last(Channel& c, std::uint64_t most);
  void ask_for_lock(Channel& c);
  void granted(Channel& c);
  void lead_out(Channel& c, bool unlock);
  void close(Channel& c);
  void release_types(Channel& c, std::uint64_t number);
  void abandon(Channel& c, Fault fault);

  WindowState& w_;
  std::vector<std::unique_ptr<Channel>> channels_;  // by place; made when needed
  std::vector<int> busy_;                           // places whose channels are in use
  std::vector<std::uint64_t> type_bytes_;
};

}  // namespace rmq::rma
