// SPDX-License-Identifier: BSD-3-Clause
#include "adi/rendezvous.hpp"

#include <algorithm>
#include <utility>

#include "adi/dispatch.hpp"
#include "base/os/clock.hpp"

namespace rmq::adi {

using methods::Outcome;

namespace {
// Turns of the dispatch loop that a long message waits for its sender to come to wait, and so to have time to copy: a
// few microseconds.
constexpr std::uint64_t kPatience = 64;
}  // namespace

Rendezvous::Rendezvous(DeviceOptions& options, Bootstrap& bootstrap) : Self(options, bootstrap) {
  handle(Kind::REQUEST_SEND, &on_request_send);
  handle(Kind::OK_TO_SEND, &on_ok_to_send);
  handle(Kind::RNDV_DATA, &on_rndv_data);
  handle(Kind::RNDV_DONE, &on_rndv_done);
  sink_.on_sent = &on_sent;
  sink_.on_moved = &on_moved;
}

Outcome Rendezvous::try_request_send(Request* r, Channel& c, std::int64_t cost) {
  Packet& p = r->packet;
  p.kind = Kind::REQUEST_SEND;
  p.length = 0;
  p.flags &= packet_flag::ready;
  if (cost == 0) p.flags |= packet_flag::envelope;
  if (r->mode == SendMode::synchronous) p.flags |= packet_flag::sync;
  p.request_send.size = r->view.bytes;
  p.request_send.sender = r->self.wire();
  p.request_send.address = config_.get_mode ? c.method->expose(r->peer, r->view) : 0;
  const Outcome o = channels_.send(c, p, Payload{}, nullptr);
  if (o != Outcome::done) return o;
  r->go(Step::announced);
  chose(kRendezvous, cost == 0 ? kEnvelope : kLong, r->peer);
  c.credit -= cost;
  if (cost == 0) --c.envelopes;
  // A synchronous rendezvous needs no acknowledgement of its own: the answer says that it is matched.
  r->incomplete.store(1, std::memory_order_relaxed);  // under the lock, and not complete before and after
  return o;
}

void Rendezvous::on_request_send(void* device, Rank from, const Packet& p, const std::byte*) {
  auto& d = part<Rendezvous>(device);
  Channel& c = d.received(from, p);
  if (!d.may_come(c, p)) return;
  const bool beyond_credit = p.flags & packet_flag::envelope;
  if (beyond_credit && !d.channels_.take_envelope(c))
    return d.protocol_error(from, p, "it goes beyond the credit and was not asked for");
  const Match m{p.context, p.source, p.tag};
  Request* recv = d.match_.match_arrival(m);
  if (!recv) {
    if (d.may_be_kept(c, p, 0)) d.keep(c, p, m, 0, Step::kept);
    return;
  }
  d.trace_.packet(Event::matched, d.id_of(from), from, p, recv->self.wire(), p.request_send.size);
  if (beyond_credit) {
    d.channels_.return_envelope();
  } else {
    d.channels_.return_credit(c, kMessageRecord);
  }
  d.answer_request_send(recv, from, p);
}

void Rendezvous::answer_request_send(Request* recv, Rank from, const Packet& p) {
  if (recv->dest_op == DestOp::copy) recv->peer = from;
  if (channels_[from].lost) [[unlikely]]
    return fail_part(recv, Errc::peer_lost, from);  // its envelope is here, its data is gone
  const Match m{p.context, p.source, p.tag};
  std::uint64_t bytes;
  if (recv->dest_op != DestOp::copy) {
    recv = stage(recv, m, p.request_send.size);
    bytes = recv->view.bytes;
  } else {
    bytes = place(recv, m, p.request_send.size).bytes;
  }
  recv->go(Step::pulling);
  recv->peer = from;
  recv->packet = p;
  recv->transfer = {.bytes = bytes, .moved = 0, .remote = p.request_send.sender, .matched_turn = turn_};
  fetch_or_ask(recv);
}

void Rendezvous::fetch_or_ask(Request* recv) {
  const Rank from = recv->peer;
  Channel& c = channels_[from];
  const std::uint64_t address = recv->packet.request_send.address, bytes = recv->transfer.bytes;
  const bool may_get = address != 0 && bytes != 0 && config_.get_mode;
  const bool chooses = may_get && !crowded();
  const methods::Pull how = chooses   ? c.method->how_to_pull(from, address, bytes, true)
                            : may_get ? methods::Pull::get
                                      : methods::Pull::ask;
  if (how == methods::Pull::unsure && turn_ - recv->transfer.matched_turn < kPatience)
    return waiting_moves_.push_back(recv);
  const std::uint64_t since = chooses && !c.method->copies_fast(address) ? os::ticks() : 0;
  if (how != methods::Pull::ask) {
    const Outcome o =
        with_method(*c.method, c.id, [&](auto& m) { return m.get(from, address, recv->view, bytes, recv); });
    if (o == Outcome::retry) return waiting_moves_.push_back(recv);
    if (o == Outcome::done || o == Outcome::queued) {
      recv->transfer.fetch_ticks = since;
      chose(kGet, how == methods::Pull::unsure ? kSenderAway : crowded() ? kCrowded : kReachable, from);
      return o == Outcome::done ? moved(recv, bytes) : void();
    }
    if (since != 0) c.method->pulled(from, methods::Pull::get, bytes, 0);
  }
  // Where a get is possible but not wanted, or has failed, the other way round is no better: the data comes as packets.
  // A put moves data with gaps, else there would have been an address to get it from: where the kernel's copies are
  // slow, a piece at a time, packets take a tenth of the time.
  std::uint64_t exposed = bytes && address == 0 ? c.method->expose(from, recv->view) : 0;
  const bool too_slow = exposed != 0 && config_.get_mode && !c.method->copies_fast(exposed);
  if (too_slow) exposed = 0;
  if (exposed != 0) {
    chose(kPut, config_.get_mode ? kReachable : kNoGets, from);
  } else {
    const Because without = config_.get_mode ? kUnreachable : kNoGets;
    chose(kPackets,
          bytes == 0                  ? kNothing
          : too_slow                  ? kGaps
          : address == 0              ? without
          : how == methods::Pull::ask ? kSenderWaits
                                      : kRefused,
          from);
  }
  recv->transfer.fetch_ticks = how == methods::Pull::ask ? since : 0;
  ask(recv, exposed);
  if (bytes == 0) finish(recv);
}

// From here on the sender may deliver: as packets, or, where there is an address, by a put and RNDV_DONE.
void Rendezvous::ask(Request* recv, std::uint64_t address) {
  Packet ok(Kind::OK_TO_SEND);
  ok.context = recv->packet.context;
  ok.msg = recv->packet.msg;
  ok.ok_to_send = {recv->transfer.remote, recv->self.wire(), recv->transfer.bytes, address};
  recv->packet.ok_to_send = ok.ok_to_send;
  recv->go(recv->transfer.bytes == 0 ? Step::landing : Step::asked);
  channels_.post(channels_[recv->peer], ok);
}

void Rendezvous::note_pulled(const Request* r, methods::Pull how) {
  if (r->transfer.fetch_ticks == 0) return;
  channels_[r->peer].method->pulled(r->peer, how, r->transfer.bytes, r->transfer.fetch_ticks);
}

void Rendezvous::moved(Request* r, std::uint64_t bytes) {
  // A get or put is over: tell the other side, then complete.
  r->go(r->kind == RequestKind::send ? Step::taken : Step::landing);
  note_pulled(r, methods::Pull::get);
  Packet done(Kind::RNDV_DONE);
  done.context = r->packet.context;
  done.msg = r->packet.msg;
  done.rndv_done.request = r->transfer.remote;
  done.rndv_done.size = bytes;
  channels_.post(channels_[r->peer], done);
  finish(r);
}

void Rendezvous::on_ok_to_send(void* device, Rank from, const Packet& p, const std::byte*) {
  auto& d = part<Rendezvous>(device);
  if (!d.take_control(from, p)) return;
  Request* r = d.announced(from, p.ok_to_send.sender);
  if (!r) return d.protocol_error(from, p, "no message of this handle waits for it");
  if (p.ok_to_send.size > r->view.bytes) return d.protocol_error(from, p, "it wants more than the message has");
  r->transfer = {.bytes = p.ok_to_send.size, .moved = 0, .remote = p.ok_to_send.receiver, .fetch_ticks = 0};
  if (p.ok_to_send.size == 0) {
    r->go(Step::taken);
    return d.finish(r);
  }
  if (p.ok_to_send.address == 0) return d.push_data(r);
  r->packet.ok_to_send = p.ok_to_send;
  r->go(Step::putting);
  d.put_or_push(r);
}

void Rendezvous::put_or_push(Request* send) {
  Channel& c = channels_[send->peer];
  const std::uint64_t address = send->packet.ok_to_send.address, bytes = send->transfer.bytes;
  const Outcome o =
      with_method(*c.method, c.id, [&](auto& m) { return m.put(send->peer, address, send->view, bytes, send); });
  if (o == Outcome::done) return moved(send, bytes);
  if (o == Outcome::queued) return;
  if (o == Outcome::retry) return waiting_moves_.push_back(send);
  chose(kPackets, kRefused, send->peer);
  push_data(send);
}

void Rendezvous::push_data(Request* send) {
  send->go(Step::pushing);
  Channel& c = channels_[send->peer];
  if (!c.bulk.empty() || !c.packets.empty()) {
    c.bulk.push_back(send);
    return channels_.schedule(c);
  }
  while (send->transfer.moved < send->transfer.bytes) {
    const Outcome o = push_fragment(send, c);
    if (o == Outcome::retry) {
      c.bulk.push_back(send);
      return channels_.schedule(c);
    }
    if (o != Outcome::done) return;  // queued: on_sent goes on; failed: on_peer_lost has completed it
  }
  finish(send);
}

Outcome Rendezvous::push_fragment(Request* send, Channel& c) {
  Transfer& t = send->transfer;
  const std::uint64_t bytes = std::min<std::uint64_t>(t.bytes - t.moved, c.method->fragment_max(send->peer));
  Packet p(Kind::RNDV_DATA);
  p.context = send->match.context;
  p.msg = send->packet.msg;
  p.length = static_cast<std::uint32_t>(bytes);
  p.rndv_data.receiver = t.remote;
  p.rndv_data.offset = t.moved;
  const Outcome o = channels_.send(c, p, Payload{send->view, t.moved, bytes}, send);
  if (o == Outcome::done || o == Outcome::queued) t.moved += bytes;
  return o;
}

Request* Rendezvous::rendezvous_receiver(Rank from, const Packet& p) {
  Request* r = awaiting_data(from, p.rndv_data.receiver);
  if (!r) {
    protocol_error(from, p, "no receive of this handle waits for data");
  } else if (p.rndv_data.offset != r->transfer.moved || p.length == 0 ||
             p.length > r->transfer.bytes - r->transfer.moved) {
    protocol_error(from, p, "it is not the next piece of the message");
    r = nullptr;
  }
  return r;
}

void Rendezvous::on_rndv_data(void* device, Rank from, const Packet& p, const std::byte* payload) {
  auto& d = part<Rendezvous>(device);
  d.received(from, p);
  Request* recv = d.rendezvous_receiver(from, p);
  if (!recv) return;
  unpack(recv->view, p.rndv_data.offset, payload, p.length);
  d.data_arrived(recv, p.length);
}

void Rendezvous::data_arrived(Request* recv, std::uint64_t bytes) {
  recv->transfer.moved += bytes;
  if (recv->transfer.moved < recv->transfer.bytes) return;
  note_pulled(recv, methods::Pull::ask);
  recv->go(Step::landing);
  finish(recv);
}

void Rendezvous::on_rndv_done(void* device, Rank from, const Packet& p, const std::byte*) {
  auto& d = part<Rendezvous>(device);
  if (!d.take_control(from, p)) return;
  Request* r = d.announced(from, p.rndv_done.request);
  if (r) {
    if (r->packet.request_send.address == 0 || p.rndv_done.size > r->view.bytes) r = nullptr;
  } else if ((r = d.awaiting_data(from, p.rndv_done.request))) {
    if (r->packet.ok_to_send.address == 0 || r->transfer.moved != 0 || p.rndv_done.size != r->transfer.bytes)
      r = nullptr;
  }
  if (!r) return d.protocol_error(from, p, "nothing of this handle could have been read or written so");
  r->go(r->kind == RequestKind::send ? Step::taken : Step::landing);
  d.finish(r);
}

int Rendezvous::retry_moves() {
  std::vector<Request*> again;
  again.swap(waiting_moves_);
  for (Request* r : again) {
    if (r->kind == RequestKind::recv) {
      fetch_or_ask(r);
    } else {
      put_or_push(r);
    }
  }
  return static_cast<int>(again.size() - waiting_moves_.size());
}

int Rendezvous::push_some(Channel& c) {
  int n = 0;
  for (std::size_t turns = c.bulk.size(); turns > 0 && !c.bulk.empty(); --turns) {
    Request* r = c.bulk.pop_front();
    const Outcome o = push_fragment(r, c);
    if (o == Outcome::retry) {
      c.bulk.push_front(r);
      break;
    }
    ++n;
    if (o != Outcome::done) continue;  // queued: on_sent goes on
    if (r->transfer.moved < r->transfer.bytes) {
      c.bulk.push_back(r);
      ++turns;  // as long as the link takes more
    } else {
      finish(r);
    }
  }
  return n;
}

void Rendezvous::on_sent(void* device, Request* owner, Errc error) {
  auto& d = part<Rendezvous>(device);
  if (owner->kind == RequestKind::other) return d.finish_one(owner, error);  // one of perhaps several packets
  if (error != Errc::ok) return d.complete(owner, error);
  if (owner->step == Step::pushing && owner->transfer.moved < owner->transfer.bytes) return d.push_data(owner);
  d.finish(owner);
}

methods::Landing Rendezvous::data_arriving(Rank from, const Packet& p) {
  received(from, p);
  Request* recv = rendezvous_receiver(from, p);
  if (!recv) return {};
  return {recv->view, p.rndv_data.offset, p.length, recv};
}

void Rendezvous::data_landed(Request* recv, const Packet& p, Errc error) {
  if (error != Errc::ok) return complete(recv, error);
  data_arrived(recv, p.length);
}

void Rendezvous::on_moved(void* device, Request* owner, std::uint64_t bytes, Errc error) {
  auto& d = part<Rendezvous>(device);
  if (error == Errc::ok) return d.moved(owner, bytes);
  if (d.channels_[owner->peer].lost) return d.complete(owner, error);
  // The kernel refused in the middle: start over with packets.
  if (std::exchange(owner->transfer.fetch_ticks, 0) != 0)
    d.channels_[owner->peer].method->pulled(owner->peer, methods::Pull::get, owner->transfer.bytes, 0);
  d.chose(kPackets, kRefused, owner->peer);
  if (owner->kind == RequestKind::recv) {
    d.ask(owner, 0);
  } else {
    d.push_data(owner);
  }
}

}  // namespace rmq::adi
