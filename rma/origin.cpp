// Operations that travel by packets: how they are made, sent and finished at their origin. When they may leave is
// channel.cpp's business.
//
//   RMA_PUT, RMA_ACCUMULATE              … fragments of the data; nothing comes back, unless asked for (RMA_ACK)
//   RMA_GET                              → RMA_REPLY …
//   RMA_GET_ACCUMULATE …                 → RMA_REPLY …
//   RMA_FETCH_OP, RMA_CAS                → RMA_REPLY
#include <algorithm>

#include "rma/apply.hpp"
#include "rma/window_state.hpp"

namespace rmq::rma {
namespace {

// Data of so many bytes is copied when it has to wait: cheaper than a request that watches it leave.
constexpr std::uint64_t kCopyMost = 512;

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
  return Fault::none;
}

void Window::send(Channel& c, Op* op, std::uint8_t flags) {
  c.head = op->next;
  if (!c.head) c.tail = nullptr;
  op->next = nullptr;
  --c.queued;
  c.queued_bytes -= op->data.bytes;
  op->number = c.needed = ++c.sent;
  op->rides = (flags & (rma_flag::lock_shared | rma_flag::lock_exclusive)) != 0;
  op->unlocks = (flags & rma_flag::unlock) != 0;
  if (op->rides) c.rider = op->number;
  if (op->type) domain_.types_out_.tell(c.to, *op->type);
  op->pending = 1;  // this call
  if (op->replies) {
    flags &= static_cast<std::uint8_t>(~rma_flag::ack);
    ++op->pending;
    ++c.answers;
    op->ticket = domain_.new_ticket(*this, c.rank, op, op->number);
    c.asked_to = op->number;
  } else if (flags & rma_flag::ack) {
    op->ticket = domain_.new_ticket(*this, c.rank, nullptr, op->number);
    c.asked_to = op->number;
  }
  send_fragments(c, op, flags);
  op_part_done(op);
}

void Window::send_fragments(Channel& c, Op* op, std::uint8_t flags) {
  const std::uint64_t most = std::max<std::uint64_t>(device().MPID_Fragment_max(c.to) / op->unit, 1) * op->unit;
  const std::uint64_t pieces = std::max<std::uint64_t>((op->data.bytes + most - 1) / most, 1);
  Request* carrier = nullptr;
  if (op->data.bytes > kCopyMost) {
    carrier = device().MPID_Request_create(RequestKind::other);
    carrier->flags = request_flag::detached;
    carrier->incomplete.store(static_cast<std::int32_t>(pieces), std::memory_order_relaxed);  // known to nobody else
    carrier->on_complete = &Window::on_data_left;
    carrier->user = op;
    carrier->peer = c.to;
    ++op->pending;
    ++c.sending;
  }
  for (std::uint64_t i = 0; i < pieces; ++i) {
    Packet p = op->packet;
    const bool last = i + 1 == pieces;
    p.flags = last ? flags : 0;
    if (last || op->replies) set_ticket(p, op->ticket);
    const std::uint64_t at = i * most;
    if (!is_single(p.kind)) p.rma_put.at = at;
    const std::uint64_t bytes = std::min(most, op->data.bytes - at);
    device().MPID_Send_packet(c.to, p, Payload{op->data, at, bytes}, carrier);
  }
}

void Window::on_data_left(Request* carrier) {
  Op* op = static_cast<Op*>(carrier->user);
  if (carrier->status.error != Errc::ok) op->fault = Fault::peer_lost;
  --op->window->channels_[static_cast<std::size_t>(op->target)]->sending;
  op->window->op_part_done(op);
}

void Window::op_part_done(Op* op) {
  if (--op->pending > 0) return;
  if (op->type) domain_.types_out_.release(op->type);
  if (Request* r = op->request) {
    r->stamp = static_cast<std::uint64_t>(op->fault);
    const Errc error = op->fault == Fault::none        ? Errc::ok
                       : op->fault == Fault::peer_lost ? Errc::peer_lost
                                                       : Errc::argument;
    device().MPID_Complete(r, error);
  }
  domain_.free_op(op);
}

// All data of the answer is there, or there is none for a reason.
void Window::answered(Op* op, Fault fault) {
  Channel& c = *channels_[static_cast<std::size_t>(op->target)];
  domain_.free_ticket(op->ticket);
  --c.answers;
  op->fault = fault;
  acknowledged(op->target, op->number, fault, kNoRank);
  op_part_done(op);
}

}  // namespace rmq::rma
