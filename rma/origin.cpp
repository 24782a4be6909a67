// Operations that travel by packets: how they are made, sent and finished at their origin. When they may leave is
// channel.cpp's business.
//
//   RMA_PUT, RMA_ACCUMULATE …            pieces of the data; nothing comes back, unless asked for (RMA_ACK)
//   RMA_GET                              → RMA_REPLY …
//   RMA_GET_ACCUMULATE …                 → RMA_REPLY …
//   RMA_FETCH_OP, RMA_CAS                → RMA_REPLY
#include <algorithm>
#include <utility>

#include "rma/apply.hpp"
#include "rma/window_state.hpp"

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

bool is_single(Kind kind) {
  return kind == Kind::RMA_FETCH_OP || kind == Kind::RMA_CAS;
}

void set_ticket(Packet& p, std::uint32_t ticket) {
  if (p.kind == Kind::RMA_FETCH_OP)
    p.rma_fetch_op.ticket = ticket;
  else if (p.kind == Kind::RMA_CAS)
    p.rma_cas.ticket = ticket;
  else
    p.rma_put.ticket = ticket;  // the four of this shape have it in the same place
}

}  // namespace

Op* Window::make_op(Kind kind, const Target& target, std::uint64_t offset, const DataView* data,
                    const DataView* result) {
  Op* op = domain_.new_op();
  op->window = this;
  op->target = target.rank;
  op->bytes = target.layout->size() * target.count;
  op->packet = Packet(kind);
  op->packet.context = options_.id;
  op->packet.source = me();
  const DataView there = target.layout->view(nullptr, target.count);
  const bool plain = there.is_contiguous();
  if (plain) offset += reinterpret_cast<std::uintptr_t>(there.base);
  if (is_single(kind)) {
    op->packet.rma_fetch_op = {offset, 0};
  } else {
    if (!plain) op->type = domain_.types_out_.use(*target.layout);
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

Op* Window::make_combining(Kind kind, const Target& target, std::uint64_t offset, ReduceOp reduction,
                           const Element& element, const DataView* data, const DataView* result) {
  Op* op = make_op(kind, target, offset, data, result);
  op->packet.tag = static_cast<std::int32_t>(static_cast<std::uint32_t>(reduction) |
                                             static_cast<std::uint32_t>(element.basic) << 8 | element.packed << 16);
  op->unit = element.packed;
  return op;
}

Fault Window::issue(Op* op, Request** request) {
  if (op->bytes == 0) {
    op->pending = 1;
    op_part_done(op);
    return Fault::none;
  }
  Channel& c = channel(op->target);
  if (op->type) ++c.typed;
  if (op->type && op->type->bytes > type_bytes_[static_cast<std::size_t>(op->target)]) {
    op->pending = 1;
    op_part_done(op);
    return Fault::definition;
  }
  if (is_lost(op->target)) {
    op->pending = 1;
    op->fault = Fault::peer_lost;
    op_part_done(op);
    return lost_because_of(c.rank, "");
  }
  if (request) {
    *request = op->request = device().MPID_Request_create(RequestKind::other);
    op->request->incomplete.store(1, std::memory_order_relaxed);  // nobody else knows it yet
    c.urgent = true;
  }
  ++domain_.counters_.packets;
  (c.head ? c.tail->next : c.head) = op;
  c.tail = op;
  ++c.queued;
  c.queued_bytes += op->data.bytes;
  pump(c);
  if (c.queued > kQueuedMost) [[unlikely]] {
    wait_until({WaitFor::What::operations, c.rank}, [&] {
      pump(c);
      return c.queued <= kQueuedMost / 2;
    });
  }
  return Fault::none;
}

// Sends more of the first operation in the queue; `flags` with its last piece, where none has left yet. False when that
// is not all, for want of room in the flight or of a ticket: answers go on with it (acknowledged(), feed_starved()).
bool Window::send(Channel& c, std::uint8_t flags) {
  Op* op = c.head;
  if (op->number == 0 && !start(c, op, flags)) return false;
  ++op->pending;  // this call: any packet may show that the target is lost, and then abandon() ends what is queued
  while (c.head == op) {
    const std::uint64_t bytes = std::min(op->piece, op->bytes - op->sent);
    if (bytes == 0) {
      c.head = op->next;
      if (!c.head) c.tail = nullptr;
      if (Request* carrier = std::exchange(op->carrier, nullptr)) device().MPID_Complete(carrier, Errc::ok);
      op_part_done(op);
      break;
    }
    if (!has_room(c, bytes)) {
      if (c.asked_position <= c.settled) ask(c);  // no answer that makes room is on its way: there was no ticket
      break;
    }
    send_piece(c, op, bytes);
  }
  const bool all = c.head != op;
  op_part_done(op);
  return all;
}

/// Whether a packet that brings, or asks for, so much may join what is under way. One always may, however much it is.
bool Window::has_room(const Channel& c, std::uint64_t bytes) {
  const std::uint64_t flying = c.position - c.settled;
  return flying == 0 || flying + kPacketCost + bytes <= kFlightMost;
}

// Numbers the operation, and prepares what its pieces share. False when it cannot, or its target is lost.
bool Window::start(Channel& c, Op* op, std::uint8_t flags) {
  if (op->replies) flags &= static_cast<std::uint8_t>(~rma_flag::ack);
  const bool asks = op->replies || (flags & rma_flag::ack) != 0;
  if (asks && !domain_.has_ticket()) {
    domain_.starve(*this, c);
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
    op->ticket = domain_.new_ticket(*this, c.rank, op->replies ? op : nullptr, op->number, end);
    c.asked_to = op->number;
    ++(op->replies ? c.answers : c.asks);
    if (op->replies) ++op->pending;
  }
  if (op->data.bytes > kCopyMost) {
    Request* carrier = op->carrier = device().MPID_Request_create(RequestKind::other);
    carrier->flags = request_flag::detached;
    carrier->incomplete.store(1, std::memory_order_relaxed);  // known to nobody else
    carrier->on_complete = &Window::on_data_left;
    carrier->user = op;
    carrier->peer = c.to;
    ++op->pending;
  }
  if (op->type) {
    ++op->pending;  // as in send()
    domain_.types_out_.tell(c.to, *op->type);
    if (c.head == op) c.types.push_back({op->number, std::exchange(op->type, nullptr)});
    op_part_done(op);
  }
  return c.head == op;
}

// Bytes of each piece of an operation but the last.
std::uint64_t Window::piece_of(const Op& op) const {
  if (is_single(op.packet.kind) || op.packet.kind == Kind::RMA_GET) return op.bytes;
  // What asks for data without bringing any is not bound to what one packet of the transport may bring.
  const std::uint64_t fragment = op.data.bytes == 0 ? kPieceMost : device().MPID_Fragment_max(world(op.target));
  return std::max<std::uint64_t>(std::min(fragment, kPieceMost) / op.unit, 1) * op.unit;
}

void Window::send_piece(Channel& c, Op* op, std::uint64_t bytes) {
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
  device().MPID_Send_packet(c.to, p, Payload{op->data, at, payload}, op->carrier);
  if (c.head != op) return;
  if (op->replies || (last && (op->flags & rma_flag::ack) != 0)) c.asked_position = c.position;
  // Half of the flight without a question: its answer makes room before the other half has left.
  if (c.position - c.asked_position >= kFlightMost / 2) ask(c);
}

// Asks for an acknowledgement of everything so far; false when there is no ticket for it yet.
bool Window::ask(Channel& c) {
  if (!domain_.has_ticket()) {
    domain_.starve(*this, c);
    return false;
  }
  // Of an operation that is under way the pieces count, but not the number.
  const bool between = c.head && c.head->number != 0 && c.head->sent < c.head->bytes;
  const std::uint64_t number = between ? c.head->number - 1 : c.sent;
  c.asked_to = std::max(c.asked_to, number);
  c.asked_position = c.position;
  ++c.asks;
  Packet p(Kind::RMA_FLUSH);
  p.context = options_.id;
  p.source = me();
  p.rma_flush.ticket = domain_.new_ticket(*this, c.rank, nullptr, number, c.position);
  device().MPID_Send_packet(c.to, p, Payload{}, nullptr);
  return true;
}

void Window::on_data_left(Request* carrier) {
  Op* op = static_cast<Op*>(carrier->user);
  if (carrier->status.error != Errc::ok) op->fault = Fault::peer_lost;
  op->window->op_part_done(op);
}

void Window::op_part_done(Op* op) {
  if (--op->pending > 0) return;
  Channel* c = channels_[static_cast<std::size_t>(op->target)].get();
  if (op->number != 0) {
    (op->older ? op->older->newer : c->oldest) = op->newer;
    (op->newer ? op->newer->older : c->newest) = op->older;
  }
  if (op->type) {  // it never left
    domain_.types_out_.release(op->type);
    if (c && op->bytes != 0) --c->typed;
  }
  if (Request* r = op->request) {
    r->stamp = static_cast<std::uint64_t>(op->fault);
    const Errc error = op->fault == Fault::none        ? Errc::ok
                       : op->fault == Fault::peer_lost ? Errc::peer_lost
                                                       : Errc::argument;
    device().MPID_Complete(r, error);
  }
  domain_.free_op(op);
}

// A part of the answer is there, or (`fault`) the next piece has none.
void Window::answer_arrived(Op* op, std::uint64_t bytes, Fault fault) {
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
void Window::answered(Op* op, Fault fault) {
  Channel& c = *channels_[static_cast<std::size_t>(op->target)];
  const std::uint64_t position = domain_.tickets_[(op->ticket >> 8) - 1].position;
  domain_.free_ticket(op->ticket);
  --c.answers;
  op->fault = fault;
  acknowledged(op->target, op->number, position, fault, kNoRank);
  op_part_done(op);
}

}  // namespace rmq::rma
