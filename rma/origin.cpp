// Operations that travel by packets: how they are made, sent and finished at their origin. When they may leave is
// channel.cpp's business.
//
//   RMA_PUT, RMA_ACCUMULATE …            pieces of the data; nothing comes back, unless asked for (RMA_ACK)
//   RMA_GET                              → RMA_REPLY …
//   RMA_GET_ACCUMULATE …                 → RMA_REPLY …
//   RMA_FETCH_OP, RMA_CAS                → RMA_REPLY
#include <algorithm>
#include <utility>

#include "rma/sender.hpp"
#include "rma/wire.hpp"

namespace rmq::rma {
namespace {

// Data of so many bytes is copied when it has to wait: cheaper than a request that watches it leave.
constexpr std::uint64_t kCopyMost = 512;

// Operations that may be queued for a target: whoever issues more waits until half of them have left.
constexpr std::uint32_t kQueuedMost = 4096;

LayoutRef keep(const Layout* layout) {
  if (!layout) return {};
  layout->retain();
  return LayoutRef(layout);
}

}  // namespace

Op* Sender::make(Kind kind, const Target& target, std::uint64_t offset, const DataView* data, const DataView* result) {
  Op* op = w_.domain.new_op();
  op->sender = this;
  op->target = target.rank;
  op->bytes = target.layout->size() * target.count;
  op->packet = w_.packet(kind);
  const DataView there = target.layout->view(nullptr, target.count);
  const bool plain = there.is_contiguous();
  if (plain) offset += reinterpret_cast<std::uintptr_t>(there.base);
  if (is_single(kind)) {
    op->packet.rma_fetch_op = {offset, 0};
  } else {
    if (!plain) op->type = w_.domain.types_out_.use(*target.layout);
    op->packet.rma_put = {offset, plain ? op->bytes : target.count, 0, op->type ? op->type->id : 0, 0};
  }
  if (data) {
    op->data = *data;
    op->layouts[0] = keep(data->layout);
  }
  if (result) {
    op->result = *result;
    op->layouts[1] = keep(result->layout);
    op->replies = true;
  }
  return op;
}

Op* Sender::make_combining(Kind kind, const Target& target, std::uint64_t offset, ReduceOp reduction,
                           const Element& element, const DataView* data, const DataView* result) {
  Op* op = make(kind, target, offset, data, result);
  op->packet.tag = static_cast<std::int32_t>(static_cast<std::uint32_t>(reduction) |
                                             static_cast<std::uint32_t>(element.basic) << 8 | element.packed << 16);
  op->unit = element.packed;
  return op;
}

Fault Sender::issue(Op* op, Request** request) {
  if (op->bytes == 0) {
    op->pending = 1;
    part_done(op);
    return Fault::none;
  }
  Channel& c = channel(op->target);
  if (op->type) ++c.typed;
  if (op->type && op->type->bytes > type_bytes_[static_cast<std::size_t>(op->target)]) {
    op->pending = 1;
    part_done(op);
    return Fault::definition;
  }
  if (w_.is_lost(op->target)) {
    op->pending = 1;
    op->fault = Fault::peer_lost;
    part_done(op);
    return w_.lost_because_of(c.rank, "");
  }
  if (request) {
    *request = op->request = w_.device().MPID_Request_create(RequestKind::other);
    op->request->incomplete.store(1, std::memory_order_relaxed);  // nobody else knows it yet
    c.urgent = true;
  }
  ++w_.domain.counters_.packets;
  (c.head ? c.tail->next : c.head) = op;
  c.tail = op;
  ++c.queued;
  c.queued_bytes += op->data.bytes;
  pump(c);
  if (c.queued > kQueuedMost) [[unlikely]] {
    w_.wait_until({WaitFor::What::operations, c.rank}, [&] {
      pump(c);
      return c.queued <= kQueuedMost / 2;
    });
  }
  return Fault::none;
}

// Sends more of the first operation in the queue; `flags` with its last piece, where none has left yet. False when that
// is not all, for want of room in the flight or of a ticket: answers go on with it (acknowledged(), feed()).
bool Sender::send(Channel& c, std::uint8_t flags) {
  Op* op = c.head;
  if (op->number == 0 && !start(c, op, flags)) return false;
  ++op->pending;  // this call: any packet may show that the target is lost, and then abandon() ends what is queued
  while (c.head == op) {
    const std::uint64_t bytes = std::min(op->piece, op->bytes - op->sent);
    if (bytes == 0) {
      c.head = op->next;
      if (!c.head) c.tail = nullptr;
      if (Request* carrier = std::exchange(op->carrier, nullptr)) w_.device().MPID_Complete(carrier, Errc::ok);
      part_done(op);
      break;
    }
    if (!has_room(c, bytes)) {
      if (c.asked_position <= c.settled) ask(c);  // no answer that makes room is on its way: there was no ticket
      break;
    }
    send_piece(c, op, bytes);
  }
  const bool all = c.head != op;
  part_done(op);
  return all;
}

/// Whether a packet that brings, or asks for, so much may join what is under way. One always may, however much it is.
bool Sender::has_room(const Channel& c, std::uint64_t bytes) {
  const std::uint64_t flying = c.position - c.settled;
  return flying == 0 || flying + kPacketCost + bytes <= kFlightMost;
}

// Numbers the operation, and prepares what its pieces share. False when it cannot, or its target is lost.
bool Sender::start(Channel& c, Op* op, std::uint8_t flags) {
  if (op->replies) flags &= static_cast<std::uint8_t>(~rma_flag::ack);
  const bool asks = op->replies || (flags & rma_flag::ack) != 0;
  if (asks && !w_.domain.has_ticket()) {
    w_.domain.starve(*this, c);
    return false;
  }
  --c.queued;
  c.queued_bytes -= op->data.bytes;
  op->number = ++c.sent;
  op->flags = flags;
  op->begin = c.position;
  op->piece = piece_of(*op);
  op->pending = 1;  // until all pieces have left
  op->older = c.newest;
  (c.newest ? c.newest->newer : c.oldest) = op;
  c.newest = op;
  if ((flags & (rma_flag::lock_shared | rma_flag::lock_exclusive)) != 0) c.rider = op->number;
  if (asks) {
    const std::uint64_t pieces = (op->bytes + op->piece - 1) / op->piece;
    const std::uint64_t end = c.position + op->bytes + pieces * kPacketCost;
    op->ticket = w_.domain.new_ticket(*this, c.rank, op->replies ? op : nullptr, op->number, end);
    c.asked_to = op->number;
    ++(op->replies ? c.answers : c.asks);
    if (op->replies) ++op->pending;
  }
  if (op->data.bytes > kCopyMost) {
    Request* carrier = op->carrier = w_.device().MPID_Request_create(RequestKind::other);
    carrier->flags = request_flag::detached;
    carrier->incomplete.store(1, std::memory_order_relaxed);  // known to nobody else
    carrier->on_complete = &Sender::on_data_left;
    carrier->user = op;
    carrier->peer = c.to;
    ++op->pending;
  }
  if (op->type) {
    ++op->pending;  // as in send()
    w_.domain.types_out_.tell(c.to, *op->type);
    if (c.head == op) c.types.push_back({op->number, std::exchange(op->type, nullptr)});
    part_done(op);
  }
  return c.head == op;
}

// Bytes of each piece of an operation but the last.
std::uint64_t Sender::piece_of(const Op& op) const {
  if (is_single(op.packet.kind) || op.packet.kind == Kind::RMA_GET) return op.bytes;
  // What asks for data without bringing any is not bound to what one packet of the transport may bring.
  const std::uint64_t fragment = op.data.bytes == 0 ? kPieceMost : w_.device().MPID_Fragment_max(w_.world(op.target));
  return std::max<std::uint64_t>(std::min(fragment, kPieceMost) / op.unit, 1) * op.unit;
}

void Sender::send_piece(Channel& c, Op* op, std::uint64_t bytes) {
  Packet p = op->packet;
  const bool last = op->sent + bytes == op->bytes;
  if (last) p.flags = op->flags;
  if (last || op->replies) set_ticket(p, op->ticket);
  if (!is_single(p.kind)) p.rma_put.at = op->sent;
  const std::uint64_t payload = is_single(p.kind) || op->data.bytes == 0 ? op->data.bytes : bytes;
  // Relaxed: under the device's lock, as its completion is.
  if (op->carrier) {
    op->carrier->incomplete.store(op->carrier->incomplete.load(std::memory_order_relaxed) + 1,
                                  std::memory_order_relaxed);
  }
  const std::uint64_t at = op->sent;
  op->sent += bytes;
  c.position += bytes + kPacketCost;
  w_.device().MPID_Send_packet(c.to, p, Payload{op->data, at, payload}, op->carrier);
  if (c.head != op) return;
  if (op->replies || (last && (op->flags & rma_flag::ack) != 0)) c.asked_position = c.position;
  // Half of the flight without a question: its answer makes room before the other half has left.
  if (c.position - c.asked_position >= kFlightMost / 2) ask(c);
}

// Asks for an acknowledgement of everything so far; false when there is no ticket for it yet.
bool Sender::ask(Channel& c) {
  if (!w_.domain.has_ticket()) {
    w_.domain.starve(*this, c);
    return false;
  }
  // Of an operation that is under way the pieces count, but not the number.
  const bool between = c.head && c.head->number != 0 && c.head->sent < c.head->bytes;
  const std::uint64_t number = between ? c.head->number - 1 : c.sent;
  c.asked_to = std::max(c.asked_to, number);
  c.asked_position = c.position;
  ++c.asks;
  Packet p = w_.packet(Kind::RMA_FLUSH);
  p.rma_flush.ticket = w_.domain.new_ticket(*this, c.rank, nullptr, number, c.position);
  w_.device().MPID_Send_packet(c.to, p, Payload{}, nullptr);
  return true;
}

void Sender::on_data_left(Request* carrier) {
  Op* op = static_cast<Op*>(carrier->user);
  if (carrier->status.error != Errc::ok) op->fault = Fault::peer_lost;
  op->sender->part_done(op);
}

void Sender::part_done(Op* op) {
  if (--op->pending > 0) return;
  Channel* c = channels_[static_cast<std::size_t>(op->target)].get();
  if (op->number != 0) {
    (op->older ? op->older->newer : c->oldest) = op->newer;
    (op->newer ? op->newer->older : c->newest) = op->older;
  }
  if (op->type) {  // it never left
    w_.domain.types_out_.release(op->type);
    if (c && op->bytes != 0) --c->typed;
  }
  if (Request* r = op->request) {
    r->stamp = static_cast<std::uint64_t>(op->fault);
    const Errc error = op->fault == Fault::none        ? Errc::ok
                       : op->fault == Fault::peer_lost ? Errc::peer_lost
                                                       : Errc::argument;
    w_.device().MPID_Complete(r, error);
  }
  w_.domain.free_op(op);
}

// A part of the answer is there, or (`fault`) the next piece has none.
void Sender::answer_arrived(Op* op, std::uint64_t bytes, Fault fault) {
  if (fault != Fault::none) {
    op->fault = fault;
    bytes = std::min(op->piece, op->sent - op->arrived);
  }
  op->arrived += bytes;
  if (op->arrived == op->bytes) return answered(op, op->fault);
  Channel& c = *channels_[static_cast<std::size_t>(op->target)];
  c.settled = std::max(c.settled, op->begin + op->arrived);
  pump(c);
}

// All data of the answer is there, or there is none for a reason.
void Sender::answered(Op* op, Fault fault) {
  Channel& c = *channels_[static_cast<std::size_t>(op->target)];
  const std::uint64_t position = w_.domain.tickets_[(op->ticket >> 8) - 1].position;
  w_.domain.free_ticket(op->ticket);
  --c.answers;
  op->fault = fault;
  acknowledged(op->target, op->number, position, fault, kNoRank);
  part_done(op);
}

}  // namespace rmq::rma
