// SPDX-License-Identifier: BSD-3-Clause
// Flow control.
//
// Each message that may end up unexpected spends credit at its sender: its data, if it travels with it, plus
// kMessageRecord. The receiver owes that credit back as soon as a receive has taken the message, and returns it in the
// header of the next packet, or in a FLOW packet when a quarter of the credit has gathered. So the unexpected memory of
// a rank never exceeds credit x peers, the published ceiling.
//
// A sender without credit keeps its messages in a queue, in order. That alone could hold back a message that
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
// (equip), so credit < C/4. From C/4 on what is owed is returned, so owed < C/4. Hence held > C/2, and
// envelopes are granted as often as the sender is stuck: each takes the first message out of its queue, until
// the one that is waited for has come. A grant comes from every rank that waits, in whatever manner and however busy
// others keep it; its only end is RMQ_ENVELOPES_MAX, the bound of what all envelopes may fill.
//
// Envelopes that a sender does not need are not kept from others: as soon as none of its messages waits, it gives back
// those that are left (FLOW with the envelope flag). It is granted no more before it asks for some, by the same packet
// with 0, when a message waits for credit again. And no grant takes more than half of what is left.
#include <algorithm>
#include <cstdint>
#include <utility>

#include "adi/channels.hpp"

namespace rmq::adi {

using methods::Outcome;

bool Channels::credit_came(Channel& c, const Packet& p) {
  if (p.credit > static_cast<std::int64_t>(c.allotment) - c.credit) [[unlikely]]
    return false;
  c.credit += p.credit;
  trace_.event(Event::credit, c.method_number(), c.rank, p.credit, static_cast<std::uint64_t>(c.credit));
  return true;
}

void Channels::hold(Channel& c, const Packet& p, std::uint64_t bytes) {
  const std::uint64_t cost = bytes + kMessageRecord;
  c.held += cost;
  if (!(p.flags & packet_flag::envelope)) c.spent += cost;
  ++counters_.unexpected;
  counters_.unexpected_bytes += cost;
  counters_.unexpected_peak = std::max(counters_.unexpected_peak, counters_.unexpected_bytes);
}

void Channels::release(Channel& c, const Packet& p, std::uint64_t bytes) {
  const std::uint64_t cost = bytes + kMessageRecord;
  c.held -= cost;
  counters_.unexpected_bytes -= cost;
  if (p.flags & packet_flag::envelope) {
    return_envelope();
  } else {
    c.spent -= cost;
    if (c.rank != me_) return_credit(c, static_cast<std::uint32_t>(cost));
  }
}

// At most one FLOW packet waits for a full link: when it leaves, it tells all that has gathered, unless other packets
// have taken the credit along.
void Channels::send_flow(Channel& c) {
  if (c.lost || c.flow_due || try_flow(c) != Outcome::retry) return;
  c.flow_due = true;
  schedule(c);
}

Outcome Channels::try_flow(Channel& c) {
  if (c.owed != 0 || c.envelopes_due != 0) {
    Packet p(Kind::FLOW);
    p.flow.envelopes = c.envelopes_due;
    if (const Outcome o = send(c, p, Payload{}, nullptr); o == Outcome::retry) return o;
    c.envelopes_due = 0;
  }
  const bool gives_back = c.gave_back && c.envelopes != 0 && c.messages.empty();
  if (!gives_back && !c.asks) return Outcome::done;
  Packet p(Kind::FLOW);
  p.flags |= packet_flag::envelope;
  p.flow.envelopes = gives_back ? c.envelopes : 0;
  const Outcome o = send(c, p, Payload{}, nullptr);
  if (o == Outcome::retry) return o;
  c.asks = false;
  if (gives_back) c.envelopes = 0;
  return o;
}

void Channels::give_back_envelopes(Channel& c) {
  if (c.envelopes == 0) return;
  c.gave_back = true;
  c.asks = false;
  send_flow(c);
}

void Channels::ask_for_envelopes(Channel& c) {
  if (!std::exchange(c.gave_back, false)) return;
  c.asks = true;
  send_flow(c);
}

bool Channels::take_back_envelopes(Channel& c, std::uint32_t count) {
  if (count > c.envelopes_out) return false;
  c.content = count != 0;
  c.envelopes_out -= count;
  envelopes_left_ += count;
  return true;
}

void Channels::grant_envelopes() {
  if (counters_.unexpected_bytes < least_ / 2) return;
  for (Channel& c : all_) {
    if (c.rank == me_ || c.lost || c.content || c.envelopes_out > 0 || c.held < c.allotment / 2) continue;
    c.envelope_grant = std::clamp<std::uint32_t>(c.envelope_grant * 2, 64, 4096);
    const std::uint64_t most = envelopes_left_ - envelopes_left_ / 2;
    const auto grant = static_cast<std::uint32_t>(std::min<std::uint64_t>(c.envelope_grant, most));
    if (grant == 0) continue;
    envelopes_left_ -= grant;
    c.envelopes_out += grant;
    c.envelopes_due += grant;
    counters_.envelopes_granted += grant;
    trace_.event(Event::starved, c.method_number(), c.rank, grant);
    send_flow(c);
  }
}

}  // namespace rmq::adi
