// Flow control and the queues of what could not be sent yet.
//
// Each message that may end up unexpected spends credit at its sender: its data, if it travels with it, plus
// kMessageRecord. The receiver owes that credit back as soon as a receive has taken the message, and returns it in the
// header of the next packet, or in a FLOW packet when a quarter of the credit has gathered. So the unexpected memory of
// a rank never exceeds credit_per_peer x peers, the published ceiling.
//
// A sender without credit keeps its messages, in order, in the pending queue. That alone could hold back a message that
// the receiver is waiting for; MPI says it must get through. So a receiver that waits, while the messages that it keeps
// of a peer fill at least half of that peer's credit, allows the peer a number of bare envelopes beyond the credit
// (REQUEST_SEND with the envelope flag), more each time.
//
// Why that is always enough. Of a peer's credit C, at rest, with nothing under way, each byte is in one place:
//
//       C = credit (at the sender) + held (by messages kept here) + owed (gathered to be returned)
//
// (held also counts the records of envelopes, which spent no credit: then it is larger still.) The sender is stuck only
// if its next message costs more than its credit, and it has no envelopes. No message costs more than C/4
// (share_out_credit), so credit < C/4. From C/4 on what is owed is returned, so owed < C/4. Hence held > C/2, and
// envelopes are granted as often as the sender is stuck: each takes the first message out of its pending queue, until
// the one that is waited for has come. A grant comes from every rank that waits, in whatever manner and however busy
// others keep it; its only end is RMQ_ENVELOPES_MAX, the bound of what all envelopes may fill.
//
//   four queues a peer: control (no credit needed, goes first), ordered (packets of the floors above: extend.cpp),
//   pending (messages, in order), bulk (rendezvous data)
#include <algorithm>

#include "adi/device.hpp"
#include "adi/dispatch.hpp"

namespace rmq::adi {

using methods::Outcome;

bool RequestList::remove(Request* r) {
  Request* before = nullptr;
  for (Request* at = head_; at; before = at, at = at->next) {
    if (at != r) continue;
    (before ? before->next : head_) = r->next;
    if (tail_ == r) tail_ = before;
    r->next = nullptr;
    --size_;
    return true;
  }
  return false;
}

Outcome Device::hand_down(Rank to, Peer& peer, Packet& p, const Payload& payload, Request* owner) {
  p.credit = peer.owed;
  const Outcome o = with_method(*peer.method, peer.id, [&](auto& m) { return m.send(to, p, payload, owner); });
  if (o == Outcome::done || o == Outcome::queued) [[likely]] {
    peer.owed = 0;
    ++counters_.sent;
    trace_.packet(Event::packet_sent, static_cast<std::uint8_t>(peer.id), to, p, payload.bytes);
  }
  return o;
}

void Device::send_control(Rank to, Packet& p) {
  Peer& peer = peers_[index(to)];
  if (peer.lost) return;
  if (peer.control.empty() && hand_down(to, peer, p, Payload{}, nullptr) != Outcome::retry) return;
  Request* r = pool_.get();
  r->kind = RequestKind::control;
  r->packet = p;
  peer.control.push_back(r);
  trace_.packet(Event::pending, static_cast<std::uint8_t>(peer.id), to, p, kLinkFull, peer.control.size());
  schedule(peer, to);
}

void Device::enqueue_message(Request* r, Peer& peer, PendingReason reason) {
  if (reason == kLinkFull && peer.credit < kMessageRecord) reason = kNoCredit;
  r->flags |= request_flag::queued;
  peer.pending.push_back(r);
  ++counters_.pending;
  trace_.packet(Event::pending, static_cast<std::uint8_t>(peer.id), r->peer, r->packet, reason, peer.pending.size());
  schedule(peer, r->peer);
}

void Device::schedule(Peer& peer, Rank rank) {
  if (peer.scheduled) return;
  peer.scheduled = true;
  waiting_peers_.push_back(rank);
  if (armed_) [[unlikely]]
    doorbell_->ring(rank_);  // another thread sleeps, and does not know yet that it waits for this too
}

int Device::drain_queues() {
  int n = 0;
  // Handlers that run below may schedule more peers: they are appended and seen by this same loop.
  for (std::size_t i = 0; i < waiting_peers_.size();) {
    const Rank rank = waiting_peers_[i];
    Peer& peer = peers_[index(rank)];
    n += drain_peer(peer, rank);
    if (!peer.waits()) {
      peer.scheduled = false;
      waiting_peers_[i] = waiting_peers_.back();
      waiting_peers_.pop_back();
    } else {
      ++i;
    }
  }
  if (!waiting_gets_.empty()) {
    std::vector<Request*> again;
    again.swap(waiting_gets_);
    for (Request* r : again) {
      if (r->kind == RequestKind::recv) {
        fetch_or_ask(r);
      } else {
        put_or_push(r);
      }
    }
    n += static_cast<int>(again.size() - waiting_gets_.size());
  }
  return n;
}

int Device::drain_peer(Peer& peer, Rank rank) {
  int n = 0;
  for (; !peer.control.empty(); ++n) {
    Request* r = peer.control.front();
    if (hand_down(rank, peer, r->packet, Payload{}, nullptr) == Outcome::retry) return n;
    if (peer.control.empty()) return n;  // the peer was lost meanwhile
    pool_.put(peer.control.pop_front());
  }
  if (peer.flow_due) {
    if (try_flow(peer, rank) == Outcome::retry) return n;
    peer.flow_due = false;
    ++n;
  }
  n += drain_ordered(peer, rank);
  while (!peer.pending.empty()) {
    // Out of the list first: sending may complete the request, and completion may free it.
    Request* r = peer.pending.front();
    r->flags &= static_cast<std::uint8_t>(~request_flag::queued);
    peer.pending.pop_front();
    if (const Outcome o = send_message(r, peer); o == Outcome::retry) {
      r->flags |= request_flag::queued;
      peer.pending.push_front(r);
      break;
    }
    ++n;
  }
  for (std::size_t turns = peer.bulk.size(); turns > 0 && !peer.bulk.empty(); --turns) {
    Request* r = peer.bulk.pop_front();
    const Outcome o = push_fragment(r, peer);
    if (o == Outcome::retry) {
      peer.bulk.push_front(r);
      break;
    }
    ++n;
    if (o != Outcome::done) continue;  // queued: on_sent goes on
    if (r->moved < r->expected) {
      peer.bulk.push_back(r);
      ++turns;  // as long as the link takes more
    } else {
      finish(r);
    }
  }
  return n;
}

void Device::credit_came(Peer& peer, Rank from, const Packet& p) {
  if (p.credit > static_cast<std::int64_t>(credit_per_peer_) - peer.credit) [[unlikely]]
    return protocol_error(from, p, "it returns more credit than was spent");
  peer.credit += p.credit;
  trace_.event(Event::credit, static_cast<std::uint8_t>(peer.id), from, p.credit,
               static_cast<std::uint64_t>(peer.credit));
}

// At most one FLOW packet waits for a full link: when it leaves, it tells all that has gathered, unless other packets
// have taken the credit along.
void Device::send_flow(Peer& peer, Rank to) {
  if (peer.lost || peer.flow_due || try_flow(peer, to) != Outcome::retry) return;
  peer.flow_due = true;
  schedule(peer, to);
}

Outcome Device::try_flow(Peer& peer, Rank to) {
  if (peer.owed == 0 && peer.envelopes_due == 0) return Outcome::done;
  Packet p(Kind::FLOW);
  p.flow.envelopes = peer.envelopes_due;
  const Outcome o = hand_down(to, peer, p, Payload{}, nullptr);
  if (o != Outcome::retry) peer.envelopes_due = 0;
  return o;
}

void Device::on_flow(void* device, Rank from, const Packet& p, const std::byte*) {
  auto& d = *static_cast<Device*>(device);
  if (!d.take_control(from, p)) return;
  std::uint32_t& envelopes = d.peers_[d.index(from)].envelopes;
  if (p.flow.envelopes > UINT32_MAX - envelopes) return d.protocol_error(from, p, "it allows more than can be counted");
  envelopes += p.flow.envelopes;
}

void Device::grant_envelopes() {
  if (counters_.unexpected_bytes < credit_per_peer_ / 2) return;
  for (Rank r = 0; r < size(); ++r) {
    Peer& peer = peers_[index(r)];
    if (r == rank_ || peer.lost || peer.envelopes_out > 0 || peer.held < credit_per_peer_ / 2) continue;
    peer.envelope_grant = std::clamp<std::uint32_t>(peer.envelope_grant * 2, 64, 4096);
    const auto grant = static_cast<std::uint32_t>(std::min<std::uint64_t>(peer.envelope_grant, envelopes_left_));
    if (grant == 0) continue;
    envelopes_left_ -= grant;
    peer.envelopes_out += grant;
    peer.envelopes_due += grant;
    counters_.envelopes_granted += grant;
    trace_.event(Event::starved, static_cast<std::uint8_t>(peer.id), r, grant);
    send_flow(peer, r);
  }
}

bool Device::all_sent() const {
  if (!waiting_peers_.empty() || !waiting_gets_.empty()) return false;
  return std::all_of(methods_.begin(), methods_.end(), [](const auto& m) { return m->drained(); });
}

}  // namespace rmq::adi
