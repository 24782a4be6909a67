// SPDX-License-Identifier: BSD-3-Clause
#include "rma/origin/op_stream.hpp"

#include <algorithm>
#include <utility>

#include "rma/origin/channel.hpp"
#include "rma/packet/fields.hpp"

namespace rmq::rma {

// ---- the queue ----

void OpStream::push(Op* op) {
  if (op->type) ++typed_;
  if (op->list) ++lists_;
  (head_ ? tail_->next : head_) = op;
  tail_ = op;
  ++queued_;
  queued_bytes_ += op->data.bytes;
}

void OpStream::refuse(Op* op) {
  if (op->type) core_.domain.types_out().release(op->type);
  core_.domain.ops().give_back(op);
}

void OpStream::keep_get_for_last(std::uint64_t most) {
  if (head_ == tail_ || tail_->replies) return;
  for (Op** link = &head_; *link; link = &(*link)->next) {
    Op* get = *link;
    if (get->packet.kind != Kind::RMA_GET || get->bytes > most || get->number != 0 || get->there != 0) continue;
    *link = get->next;
    tail_->next = get;
    get->next = nullptr;
    tail_ = get;
    return;
  }
}

// ---- leaving ----

bool OpStream::send(std::uint8_t flags) {
  Op* op = head_;
  if (op->number == 0 && !start(op, flags)) return false;
  ++op->pending;  // this call: any packet may show that the target is lost, and then end() ends what is queued
  while (head_ == op) {
    const std::uint64_t bytes = std::min(op->piece, op->bytes - op->sent);
    if (bytes == 0) {
      head_ = op->next;
      if (!head_) tail_ = nullptr;
      if (Request* carrier = std::exchange(op->carrier, nullptr)) core_.device().finish_one(carrier, Errc::ok);
      part_done(op);
      break;
    }
    if (!flight_.has_room(bytes)) {
      if (!flight_.is_asked()) ask();  // no answer that makes room is on its way: there was no ticket
      break;
    }
    send_piece(op, bytes);
  }
  const bool all = head_ != op;
  part_done(op);
  return all;
}

// It takes its number. When the target has done all before it, nothing is left to acknowledge; else the next answer
// that is asked for stands for this one as well.
bool OpStream::copy() {
  Op* op = head_;
  if (op->there == 0) [[likely]]
    return false;
  const std::uint64_t there = std::exchange(op->there, 0);
  // A copy asks nobody: it overtakes what has left and is not known to be done.
  if (core_.options.hints.in_order && acked_ != sent_) return false;
  if (core_.domain.is_behind_epoch(to_)) [[unlikely]] {
    wants_word_ = true;
    return false;
  }
  if (op->replies) {
    core_.domain.order_loads();
    if (!core_.device().get_at_once(to_, there, op->result)) return false;
  } else {
    core_.domain.stores();
    if (!core_.device().put_at_once(to_, there, op->data)) return false;
  }
  head_ = op->next;
  if (!head_) tail_ = nullptr;
  --queued_;
  queued_bytes_ -= op->data.bytes;
  if (acked_ == sent_++) acked_ = asked_to_ = sent_;
  op->pending = 1;
  part_done(op);
  return true;
}

bool OpStream::leaves_at_once(std::uint64_t most_bytes) const {
  return head_ && head_ == tail_ && head_->data.bytes <= most_bytes && piece_of(*head_) >= head_->bytes &&
         flight_.has_room(head_->bytes) && core_.domain.tickets().has_one();
}

// Numbers the operation, and prepares what its pieces share. False when it cannot, or its target is lost.
bool OpStream::start(Op* op, std::uint8_t flags) {
  if (op->replies) flags &= static_cast<std::uint8_t>(~rma_flag::ack);
  const bool asks = op->replies || (flags & rma_flag::ack) != 0;
  if (asks && !has_ticket()) return false;
  --queued_;
  queued_bytes_ -= op->data.bytes;
  op->number = ++sent_;
  ++core_.domain.count().packets;
  op->flags = flags;
  op->begin = flight_.position();
  op->piece = piece_of(*op);
  op->pending = 1;  // until all pieces have left
  op->older = newest_;
  (newest_ ? newest_->newer : oldest_) = op;
  newest_ = op;
  if (asks) {
    const std::uint64_t pieces = (op->bytes + op->piece - 1) / op->piece;
    const std::uint64_t end = flight_.position() + op->bytes + pieces * kPacketCost;
    op->ticket = core_.domain.tickets().take(channel_, to_, op->replies ? op : nullptr, op->number, end);
    asked_to_ = op->number;
    ++(op->replies ? answers_ : asks_);
    if (op->replies) ++op->pending;
  }
  if (op->data.bytes > kCopyMost) {
    Request* carrier = op->carrier = core_.device().MPID_Request_create(RequestKind::other);
    carrier->flags = request_flag::detached;
    carrier->incomplete.store(1, std::memory_order_relaxed);  // known to nobody else
    carrier->on_complete = &OpStream::on_data_left;
    carrier->user = op;
    carrier->peer = to_;
    ++op->pending;
  }
  if (op->type) {
    ++op->pending;  // as in send()
    core_.domain.types_out().tell(to_, *op->type);
    if (head_ == op) types_.push_back({op->number, std::exchange(op->type, nullptr)});
    part_done(op);
  }
  return head_ == op;
}

// Whether there is a ticket; else this channel stands in line for one.
bool OpStream::has_ticket() {
  if (core_.domain.tickets().has_one()) return true;
  if (!std::exchange(starved_, true)) core_.domain.tickets().starve(channel_);
  return false;
}

// Bytes of each piece of an operation but the last.
std::uint64_t OpStream::piece_of(const Op& op) const {
  if (is_in_one_packet(op.packet.kind) || op.packet.kind == Kind::RMA_GET) return op.bytes;
  // What asks for data without bringing any is not bound to what one packet of the transport may bring.
  const std::uint64_t fragment = op.data.bytes == 0 ? kPieceMost : core_.device().fragment_max(to_);
  return std::max<std::uint64_t>(std::min(fragment, kPieceMost) / op.unit, 1) * op.unit;
}

void OpStream::send_piece(Op* op, std::uint64_t bytes) {
  Packet p = op->packet;
  const bool last = op->sent + bytes == op->bytes;
  if (last) p.flags = op->flags;
  if (last || op->replies) set_ticket(p, op->ticket);
  if (!is_in_one_packet(p.kind)) p.rma_put.at = op->sent;
  const std::uint64_t payload = is_in_one_packet(p.kind) || op->data.bytes == 0 ? op->data.bytes : bytes;
  // Relaxed: under the device's lock, as its completion is.
  if (op->carrier) {
    op->carrier->incomplete.store(op->carrier->incomplete.load(std::memory_order_relaxed) + 1,
                                  std::memory_order_relaxed);
  }
  const std::uint64_t at = op->sent;
  op->sent += bytes;
  flight_.leave(bytes);
  core_.device().send_packet(to_, p, Payload{op->data, at, payload}, op->carrier);
  if (head_ != op) return;
  if (op->replies || (last && (op->flags & rma_flag::ack) != 0)) flight_.ask();
  // Half of the flight without a question: its answer makes room before the other half has left.
  if (flight_.is_half_unasked()) ask();
}

// Asks for an acknowledgement of everything so far, if there is a ticket for it; else Channel::fed() goes on.
void OpStream::ask() {
  if (!has_ticket()) return;
  // Of an operation that is under way the pieces count, but not the number.
  const bool between = head_ && head_->number != 0 && head_->sent < head_->bytes;
  const std::uint64_t number = between ? head_->number - 1 : sent_;
  asked_to_ = std::max(asked_to_, number);
  flight_.ask();
  ++asks_;
  Packet p = core_.packet(Kind::RMA_FLUSH);
  p.rma_flush.ticket = core_.domain.tickets().take(channel_, to_, nullptr, number, flight_.position());
  core_.device().send_packet(to_, p, Payload{}, nullptr);
}

void OpStream::unlock() {
  asked_to_ = ++sent_;  // it counts as an operation
  flight_.ask();
  ++asks_;
  Packet p = core_.packet(Kind::RMA_UNLOCK);
  p.rma_unlock.ticket = core_.domain.tickets().take(channel_, to_, nullptr, sent_, flight_.position());
  core_.device().send_packet(to_, p, Payload{}, nullptr);
}

// ---- what the target has done ----

bool OpStream::arrived(Op* op, std::uint64_t bytes, Fault fault) {
  if (fault != Fault::none) {
    op->fault = fault;
    bytes = std::min(op->piece, op->sent - op->arrived);
  }
  op->arrived += bytes;
  if (op->arrived == op->bytes) return true;
  flight_.settle(op->begin + op->arrived);
  return false;
}

Ticket OpStream::answered(Op* op, Fault fault) {
  --answers_;
  op->fault = fault;
  return core_.domain.tickets().free(op->ticket);
}

void OpStream::assume_covered(bool met) {
  wants_word_ = false;
  if (met || acked_ != sent_) prove(covered_);  // if it is not known, what follows stands for it as well
  if (acked_ == sent_) return;
  acked_ = asked_to_ = covered_ = sent_;
  core_.domain.begin_behind(to_);
}

// The target has done all up to this number.
void OpStream::prove(std::uint64_t number) {
  if (covered_ == 0 || number < covered_) return;
  covered_ = 0;
  core_.domain.end_behind(to_);
}

void OpStream::settle(std::uint64_t number, std::uint64_t position) {
  prove(number);
  acked_ = std::max(acked_, number);
  flight_.settle(position);
  release_types(number);
}

// Operations up to this one are done: nobody asks for their datatypes again.
void OpStream::release_types(std::uint64_t number) {
  for (; !types_.empty() && types_.front().number <= number; types_.pop_front()) {
    core_.domain.types_out().release(types_.front().type);
    --typed_;
  }
}

void OpStream::on_data_left(Request* carrier) {
  Op* op = static_cast<Op*>(carrier->user);
  if (carrier->status.error != Errc::ok) op->fault = Fault::peer_lost;
  op->channel->stream().part_done(op);
}

void OpStream::part_done(Op* op) {
  if (--op->pending > 0) return;
  if (op->list) --lists_;
  if (op->number != 0) {
    (op->older ? op->older->newer : oldest_) = op->newer;
    (op->newer ? op->newer->older : newest_) = op->older;
  }
  if (op->type) {  // it never left
    core_.domain.types_out().release(op->type);
    --typed_;
  }
  if (Request* r = op->request) {
    r->stamp = static_cast<std::uint64_t>(op->fault);
    const Errc error = op->fault == Fault::none        ? Errc::ok
                       : op->fault == Fault::peer_lost ? Errc::peer_lost
                                                       : Errc::argument;
    core_.device().finish_one(r, error);
  }
  core_.domain.ops().give_back(op);
}

void OpStream::end(Fault fault) {
  Op* op = std::exchange(head_, nullptr);
  tail_ = nullptr;
  sent_ += std::exchange(queued_, 0);
  queued_bytes_ = 0;
  while (op) {
    Op* next = op->next;
    op->fault = fault;
    if (op->number == 0) op->pending = 1;
    if (Request* carrier = std::exchange(op->carrier, nullptr)) core_.device().finish_one(carrier, Errc::ok);
    part_done(op);
    op = next;
  }
  core_.domain.tickets().drop(channel_, [&](Op* asker) { channel_.answered(asker, fault); });
  release_types(UINT64_MAX);
  asks_ = 0;
  acked_ = asked_to_ = sent_;
  prove(UINT64_MAX);
  flight_.end();
}

}  // namespace rmq::rma
