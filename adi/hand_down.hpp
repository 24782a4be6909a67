// The last step of a packet in the device: to the method that reaches its rank. Inline, for the short message's sake.
#pragma once

#include "adi/device.hpp"
#include "adi/dispatch.hpp"

namespace rmq::adi {

inline methods::Outcome Device::hand_down(Rank to, Peer& peer, Packet& p, const Payload& payload, Request* owner) {
  using methods::Outcome;
  p.credit = peer.owed;
  const Outcome o = with_method(*peer.method, peer.id, [&](auto& m) { return m.send(to, p, payload, owner); });
  if (o == Outcome::done || o == Outcome::queued) [[likely]] {
    peer.owed = 0;
    ++counters_.sent;
    trace_.packet(Event::packet_sent, static_cast<std::uint8_t>(peer.id), to, p, payload.bytes);
  }
  return o;
}

}  // namespace rmq::adi
