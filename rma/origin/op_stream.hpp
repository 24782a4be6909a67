// SPDX-License-Identifier: BSD-3-Clause
// The operations on their way to one target: queued, started and not finished, and how far the target has come. Its
// channel says when they leave and with which flags, and gets the answers; here they are numbered as they start, leave
// in that order, piece by piece, and end when their data has left and their answer has come.
//
//   RMA_PUT, RMA_ACCUMULATE …            pieces of the data; nothing comes back, unless asked for (RMA_ACK)
//   RMA_PUT_LIST                         short puts that were gathered; the same
//   RMA_GET                              → RMA_REPLY …
//   RMA_GET_ACCUMULATE …                 → RMA_REPLY …
//   RMA_FETCH_OP, RMA_CAS                → RMA_REPLY
//
// What is under way is bounded (rma/packet/flight.hpp): bytes are counted as pieces leave, and settled by answers; half
// of the flight without an answer on its way asks for one (RMA_FLUSH, between the pieces of a large operation too).
//
// Any packet that is sent may show that the target is lost, and then end() has ended all when the call returns.
#pragma once

#include <cstdint>
#include <deque>

#include "base/packet/request.hpp"
#include "rma/core/fault.hpp"
#include "rma/core/op.hpp"
#include "rma/core/tickets.hpp"
#include "rma/core/window_core.hpp"
#include "rma/packet/flight.hpp"
#include "rma/packet/put_list.hpp"

namespace rmq::rma {

class OpStream {
 public:
  OpStream(WindowCore& core, Channel& channel, Rank to) : core_(core), channel_(channel), to_(to) {}
  ~OpStream() {
    release_types(UINT64_MAX);
    prove(UINT64_MAX);
  }
  OpStream(const OpStream&) = delete;
  OpStream& operator=(const OpStream&) = delete;

  // ---- the queue ----
  void push(Op* op);
  /// Adds a put to the last operation in the queue; false when that is no list with room for it. Inline: nothing else
  /// happens to nearly all short puts that need not leave at once.
  bool append(std::uint64_t offset, const void* from, std::uint64_t bytes) {
    if (!tail_ || tail_->number != 0 || tail_->list_room < kPutHead + bytes) return false;
    queued_bytes_ += add_to_list(*tail_, offset, from, static_cast<std::uint32_t>(bytes));
    return true;
  }
  /// The same for a list that is not in the queue and has room. How many bytes it takes.
  static std::uint32_t add_to_list(Op& op, std::uint64_t offset, const void* from, std::uint32_t bytes) {
    write_listed(op.list.get() + op.data.bytes, offset, from, bytes);
    const std::uint32_t all = kPutHead + bytes;
    op.list_room -= all;
    op.data.bytes += all;
    op.bytes += all;
    ++op.packet.rma_put_list.puts;
    return all;
  }
  /// Lists that are queued or whose data has not left.
  std::uint32_t lists() const { return lists_; }
  /// Ends an operation that does not come into the queue.
  void refuse(Op* op);
  bool is_empty() const { return head_ == nullptr; }
  /// In the queue, which is not empty. The first may have started (Op::number).
  const Op& first() const { return *head_; }
  const Op& last() const { return *tail_; }
  /// Operations in the queue that have not started, and bytes of their data.
  std::uint32_t queued() const { return queued_; }
  std::uint64_t queued_bytes() const { return queued_bytes_; }
  /// The number that the first, or the last, in the queue has or will have.
  std::uint64_t first_number() const { return head_->number != 0 ? head_->number : sent_ + 1; }
  std::uint64_t last_number() const { return sent_ + queued_; }
  /// Moves the first get of at most so many bytes to the end, unless something with an answer stands there: gets are
  /// not ordered with anything, and the answer to the last operation acknowledges all.
  void keep_get_for_last(std::uint64_t most);

  // ---- leaving ----
  /// Does the first operation by a copy between the processes; it is complete then, and no packet leaves. False when it
  /// is not one that may be copied, or that has failed, or may overtake packets that it must not: it is to be sent.
  bool copy();
  /// Sends more of the first operation; `flags` with its last piece, where none has left yet. False when that is not
  /// all, for want of room in the flight or of a ticket: answers go on with it (Channel::pump).
  bool send(std::uint8_t flags);
  /// Whether the first operation is the only one, and leaves as one packet, with an answer, when it is sent now.
  bool leaves_at_once(std::uint64_t most_bytes) const;
  /// Sees to it that everything up to this operation, which has started, is acknowledged; as soon as there is a ticket.
  void ask_for(std::uint64_t number) {
    if (asked_to_ < number) ask();
  }
  /// Gives the lock back behind everything so far, and asks for an acknowledgement. Needs a ticket.
  void unlock();

  // ---- what the target has done ----
  bool has_started(std::uint64_t number) const { return sent_ >= number; }
  /// Whether all up to this number have left and are finished here and, with `remote`, at the target.
  bool is_done(std::uint64_t number, bool remote) const {
    return sent_ >= number && (!oldest_ || oldest_->number > number) && (!remote || acked_ >= number);
  }
  /// Some operations have not left, or are to bring data here.
  bool is_unfinished() const { return head_ != nullptr || answers_ > 0; }
  /// Some name datatypes that the target may ask for again.
  bool names_types() const { return typed_ > 0; }
  /// Nothing is under way, and no acknowledgement either.
  bool is_idle() const { return asks_ == 0 && !oldest_; }
  /// Something is, or is queued, or may not have been executed.
  bool is_open_ended() const { return head_ != nullptr || oldest_ != nullptr || acked_ != sent_; }

  /// So many bytes of an answer are here, or (`fault`) its next piece brings none. Whether that was all of it.
  bool arrived(Op* op, std::uint64_t bytes, Fault fault);
  /// All of the answer is here: its ticket is free. part_done() is still to be called for it.
  Ticket answered(Op* op, Fault fault);
  /// An acknowledgement that was asked for has come.
  void acknowledgement_came() { --asks_; }
  /// Everything up to that number, and that position of the flight, is done at the target.
  void settle(std::uint64_t number, std::uint64_t position);
  /// The target itself has said that all so far is done: by what ended its epoch.
  void assume_acknowledged() { acked_ = asked_to_ = sent_; }
  /// An epoch has ended of which the target has not said so: it will have done all before it goes on, but may not have
  /// yet. If the two have `met`, it has left the epoch that ended like that before.
  void assume_covered(bool met);
  /// An operation could not be copied for that: an acknowledgement is worth its packet.
  bool wants_word() const { return wants_word_; }
  /// One of the things that must happen to an operation has happened; the last one ends it.
  void part_done(Op* op);
  void fed() { starved_ = false; }
  /// Nothing more comes from the target: all that is queued or under way ends.
  void end(Fault fault);

 private:
  /// A datatype that operation `number` names: the target may ask for it again until the operation is done.
  struct NamedType {
    std::uint64_t number = 0;
    TypeOut* type = nullptr;
  };

  void prove(std::uint64_t number);
  bool start(Op* op, std::uint8_t flags);
  void send_piece(Op* op, std::uint64_t bytes);
  void ask();
  bool has_ticket();
  std::uint64_t piece_of(const Op& op) const;
  void release_types(std::uint64_t number);
  static void on_data_left(Request* carrier);

  WindowCore& core_;
  Channel& channel_;  // gets the answers
  const Rank to_;
  Op *head_ = nullptr, *tail_ = nullptr;      // queued; the first may have started
  std::uint32_t queued_ = 0;                  // that have not started
  std::uint32_t lists_ = 0;                   // queued, or started and not finished here
  std::uint64_t queued_bytes_ = 0;            // of their data
  Op *oldest_ = nullptr, *newest_ = nullptr;  // started, not finished here
  std::uint64_t sent_ = 0;                    // operations that have started, and bare unlocks, so far
  std::uint64_t acked_ = 0;                   // of those, done at the target
  std::uint64_t asked_to_ = 0;                // an acknowledgement of this one, and all before, is on its way
  std::uint64_t covered_ = 0;                 // assume_covered() has been told of these; 0: none that may be to be done
  std::uint32_t asks_ = 0;                    // acknowledgements that are on their way
  std::uint32_t answers_ = 0;                 // operations whose data is still to come
  bool wants_word_ = false;
  bool starved_ = false;  // stands in line for a ticket
  Flight flight_;
  std::deque<NamedType> types_;  // that operations which have started name, until they are known to be done
  std::uint32_t typed_ = 0;      // of these, and of the queue
};

}  // namespace rmq::rma
