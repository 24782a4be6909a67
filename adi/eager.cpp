// SPDX-License-Identifier: BSD-3-Clause
#include "adi/eager.hpp"

#include <algorithm>
#include <cstring>

#include "adi/dispatch.hpp"

namespace rmq::adi {

using methods::Outcome;

Eager::Eager(DeviceOptions& options, Bootstrap& bootstrap) : Rendezvous(options, bootstrap) {
  handle(Kind::SHORT, &on_short);
  handle(Kind::SHORT_SYNC, &on_short);
  handle(Kind::SYNC_ACK, &on_sync_ack);
}

void Eager::MPID_Isend(Request* r) {
  // Relaxed: the request is not yet visible to any other thread.
  r->incomplete.store(r->mode == SendMode::synchronous ? 2 : 1, std::memory_order_relaxed);
  if (is_careful() && is_revoked(r->match.context)) [[unlikely]]
    return complete(r, Errc::revoked);
  if (r->peer == rank_) return send_to_self(r);
  Channel& c = channels_[r->peer];
  if (c.lost) [[unlikely]]
    return complete(r, Errc::peer_lost);
  Packet& p = r->packet;
  set_match(p, r->match);
  p.msg = c.next_msg++;
  p.flags = r->mode == SendMode::ready ? packet_flag::ready : 0;
  if (!c.messages.empty()) return channels_.enqueue(c, r, Hindrance::behind_others);
  if (const Outcome o = send_message(r, c); o == Outcome::retry) channels_.enqueue(c, r, Hindrance::link_full);
}

// What a short message without more ado needs: it is short, has credit, and none is before it. There is no credit for
// oneself, for a rank that is lost, and before there are methods.
inline bool Eager::may_leave(const Channel& c, std::size_t bytes) const {
  return bytes <= c.eager_max && c.credit >= cost_with(bytes) && c.messages.empty();
}

[[gnu::always_inline]] inline Packet Eager::short_packet(const Channel& c, const Match& match, std::size_t bytes) {
  Packet p(Kind::SHORT);
  set_match(p, match);
  p.length = static_cast<std::uint32_t>(bytes);
  p.msg = c.next_msg;
  return p;
}

[[gnu::always_inline]] inline void Eager::note_left(Channel& c, std::size_t bytes) {
  ++c.next_msg;
  c.credit -= cost_with(bytes);
}

// Made, recorded and written in one piece, of a message that may leave. False, with nothing done, where there is no
// room, or the method is none that works like this.
[[gnu::always_inline]] inline bool Eager::leave_at_once(Channel& c, const Match& match, const void* data,
                                                        std::size_t bytes) {
  if (trace_.full()) [[unlikely]]
    return false;
  Packet p = short_packet(c, match, bytes);
  p.credit = c.owed;
  const bool left = with_method(
      *c.method, c.id, [&]<class M>(M & m) __attribute__((always_inline)) {
        if constexpr (requires { m.send_at_once(c.rank, p, nullptr); })
          return m.send_at_once(c.rank, p, static_cast<const std::byte*>(data));
        else
          return false;
      });
  if (!left) [[unlikely]]
    return false;
  note_left(c, bytes);
  c.owed = 0;
  ++counters_.sent;
  trace_.header(Event::packet_sent, c.method_number(), c.rank, p, bytes);
  return true;
}

bool Eager::send_now(Rank to, const Match& match, const void* data, std::size_t bytes) {
  Channel& c = channels_[to];
  if (!may_leave(c, bytes)) [[unlikely]]
    return false;
  if (leave_at_once(c, match, data, bytes)) [[likely]]
    return true;
  return leave_at_length(c, match, data, bytes);
}

// Out of line: what the short way puts into the cell from registers is a packet in memory here.
[[gnu::noinline]] bool Eager::leave_at_length(Channel& c, const Match& match, const void* data, std::size_t bytes) {
  Packet p = short_packet(c, match, bytes);
  if (channels_.send(c, p, Payload{DataView::contiguous(data, bytes), 0, bytes}, nullptr) != Outcome::done)
    return false;
  chose(kShort, kFits, c.rank);
  note_left(c, bytes);
  return true;
}

Request* Eager::isend_now(Rank to, const Match& match, const void* data, std::size_t bytes) {
  Channel& c = channels_[to];
  if (!may_leave(c, bytes) || !leave_at_once(c, match, data, bytes)) [[unlikely]]
    return nullptr;
  Request* const r = MPID_Request_create(RequestKind::send);
  r->peer = to;
  r->match = match;
  r->view = DataView::contiguous(data, bytes);
  r->go(Step::sent);
  r->packet.msg = c.next_msg - 1;
  return r;
}

Outcome Eager::send_message(Request* r, Channel& c) {
  const std::int64_t cost = c.cost_of(r->view.bytes);
  if (c.credit >= cost) [[likely]]
    return r->view.bytes <= c.eager_max ? try_short(r, c, cost) : try_request_send(r, c, cost);
  if (c.envelopes != 0) return try_request_send(r, c, 0);
  channels_.ask_for_envelopes(c);
  return Outcome::retry;
}

Outcome Eager::try_short(Request* r, Channel& c, std::int64_t cost) {
  Packet& p = r->packet;
  const bool sync = r->mode == SendMode::synchronous;
  p.kind = sync ? Kind::SHORT_SYNC : Kind::SHORT;
  p.flags &= packet_flag::ready;  // an envelope that the full link refused may have credit by now
  p.length = static_cast<std::uint32_t>(r->view.bytes);
  if (sync) p.short_sync.sender = r->self.wire();
  const Outcome o = channels_.send(c, p, Payload{r->view, 0, r->view.bytes}, r);
  if (o == Outcome::done || o == Outcome::queued) {
    r->go(sync ? Step::unacknowledged : Step::sent);
    c.credit -= cost;
    chose(kShort, kFits, r->peer);
  }
  if (o == Outcome::done) finish(r);
  return o;
}

void Eager::acknowledge_sync(Channel& from, const Packet& p) {
  if (p.kind != Kind::SHORT_SYNC) return;
  Packet ack(Kind::SYNC_ACK);
  ack.context = p.context;
  ack.msg = p.msg;
  ack.sync_ack.sender = p.short_sync.sender;
  channels_.post(from, ack);
}

// The receive that takes the message, or nullptr.
[[gnu::always_inline]] inline Request* Eager::match_short(Channel& c, const Packet& p, const Match& m) {
  Request* const recv = match_.match_arrival(m);
  if (!recv) [[unlikely]]
    return nullptr;
  trace_.packet(Event::matched, c.method_number(), c.rank, p, 0, p.length);
  channels_.return_credit(c, p.length + kMessageRecord);
  acknowledge_sync(c, p);
  return recv;
}

// The message as it is kept until a receive takes it; nullptr: it has been refused.
Request* Eager::keep_short(Channel& c, const Packet& p, const Match& m, Step step) {
  return may_be_kept(c, p, p.length) ? keep(c, p, m, p.length, step) : nullptr;
}

void Eager::on_short(void* device, Rank from, const Packet& p, const std::byte* payload) {
  auto& d = part<Eager>(device);
  Channel& c = d.received(from, p);
  if (!d.may_come(c, p)) [[unlikely]]
    return;
  const Match m{p.context, p.source, p.tag};
  if (Request* recv = d.match_short(c, p, m)) [[likely]]
    return d.deliver(recv, m, payload, p.length);
  Request* const message = d.keep_short(c, p, m, Step::kept);
  if (message && p.length) std::memcpy(message->owned, payload, p.length);
}

methods::Landing Eager::short_arriving(Rank from, const Packet& p) {
  Channel& c = received(from, p);
  if (!may_come(c, p)) return {};
  const Match m{p.context, p.source, p.tag};
  Request* const recv = match_short(c, p, m);
  if (!recv) {
    Request* const message = keep_short(c, p, m, Step::arriving);
    if (!message) return {};
    return {DataView::contiguous(message->owned, p.length), 0, p.length, message};
  }
  if (recv->dest_op == DestOp::join) {
    Request* s = stage(recv, m, p.length);
    s->peer = from;
    return {s->view, 0, s->view.bytes, s};
  }
  const Place to = place(recv, m, p.length);
  if (recv->dest_op == DestOp::copy) recv->peer = from;
  return {recv->view, to.offset, to.bytes, recv};
}

void Eager::short_landed(Request* owner, Rank from, Errc error) {
  if (error != Errc::ok) note_failed(owner, error, from);
  if (owner->kind != RequestKind::message) return finish(owner);
  Request* const recv = owner->unexpected.taker;
  if (!recv) {
    owner->go(Step::kept);
    if (is_revoked(owner->match.context)) forget_kept(owner);  // while it landed
    return;
  }
  if (error == Errc::ok) {
    deliver(recv, owner->match, owner->owned, owner->owned_bytes);
  } else {
    fail_part(recv, error, from);
  }
  pool_.put(owner);
}

void Eager::receive_kept(Request* recv, Request* message) {
  const Packet& p = message->packet;
  trace_.packet(Event::matched, id_of(message->peer), message->peer, p, recv->self.wire(), message->owned_bytes);
  release_kept(message);
  if (recv->dest_op == DestOp::copy) recv->peer = message->peer;  // a wildcard's source is known now: an error names it
  if (message->peer == rank_) return receive_from_self(recv, message);
  if (p.kind == Kind::REQUEST_SEND) {
    answer_request_send(recv, message->peer, p);
    pool_.put(message);
    return;
  }
  acknowledge_sync(channels_[message->peer], p);
  if (message->step == Step::arriving) {  // short_landed goes on
    message->unexpected.taker = recv;
    return;
  }
  if (message->status.error != Errc::ok) [[unlikely]] {
    fail_part(recv, message->status.error, message->peer);
  } else {
    deliver(recv, message->match, message->owned, message->owned_bytes);
  }
  pool_.put(message);
}

void Eager::on_sync_ack(void* device, Rank from, const Packet& p, const std::byte*) {
  auto& d = part<Eager>(device);
  if (!d.take_control(from, p)) return;
  Request* r = d.in_step(Step::unacknowledged, from, p.sync_ack.sender);
  if (!r) return d.protocol_error(from, p, "no synchronous send waits for it");
  r->go(Step::taken);
  d.finish(r);
}

void Eager::MPID_Irecv(Request* r) {
  std::uint32_t parts = r->parts;
  r->incomplete.store(static_cast<std::int32_t>(parts), std::memory_order_relaxed);  // not yet visible to others
  if (r->dest_op == DestOp::join) [[unlikely]]
    r->status.bytes = r->view.bytes;  // in the end, those of the shortest message
  if (is_careful()) [[unlikely]] {
    if (is_revoked(r->match.context)) {
      for (; parts > 0; --parts) fail_part(r, Errc::revoked, kNoRank);
      return;
    }
    const bool sender_lost = any_lost_ && r->peer != kNoRank && channels_[r->peer].lost;
    if (sender_lost && !match_.find(r->match)) return complete(r, Errc::peer_lost);
  }
  for (; parts > 0; --parts) {
    r->parts = parts;
    Request* message = match_.match_or_post(r);
    if (!message) {
      trace_.event(Event::posted, 0, r->peer, r->match.context, static_cast<std::uint32_t>(r->match.tag));
      if (any_lost_ && (r->flags & request_flag::grouped) != 0) [[unlikely]] {
        const auto lost = std::ranges::find_if(*r->group, [&](Rank rank) { return channels_[rank].lost; });
        if (lost != r->group->end()) {
          give_up(r, Errc::peer_lost);
          tell_failures(*lost);
        }
      }
      return;
    }
    receive_kept(r, message);
  }
}

}  // namespace rmq::adi
