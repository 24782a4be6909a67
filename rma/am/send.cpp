// SPDX-License-Identifier: BSD-3-Clause
// What leaves: requests and replies.
#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "rma/am/active_messages.hpp"

namespace rmq::rma {
namespace {

// Data that is copied behind the arguments, so that the message is one packet.
constexpr std::size_t kTogetherMost = 8 * 1024;
// Data for a place from which on a copy between the processes is worth asking for.
constexpr std::size_t kCopyLeast = kTogetherMost;

DataView view_of(std::span<const std::byte> data) {
  return DataView::contiguous(const_cast<std::byte*>(data.data()), data.size());
}

}  // namespace

// Not while data that went by packets may still come there: it would overwrite what is newer.
bool ActiveMessages::put_at_once(int to, const ActiveMessage& m) {
  const Peer& peer = peers_[to];
  return m.place != 0 && m.data.size() >= kCopyLeast && peer.handled >= peer.placed &&
         device().put_at_once(world(to), m.place, view_of(m.data));
}

// For the request that has just been counted.
std::byte* ActiveMessages::staging_of(int to) {
  Peer& peer = peers_[to];
  if (!peer.staged) {
    peer.staged = static_cast<std::byte*>(std::malloc(kWindow * kStagedMost));
    RMQ_CHECK(peer.staged != nullptr);
  }
  return peer.staged + (peer.sent - 1) % kWindow * kStagedMost;
}

void ActiveMessages::send_pieces(int to, const ActiveMessage& m, Request* owner) {
  const std::size_t most = device().fragment_max(world(to));
  const DataView data = view_of(m.data);
  if (owner)  // relaxed: with the device held, as its completion is
    owner->incomplete.store(static_cast<std::int32_t>((m.data.size() + most - 1) / most), std::memory_order_relaxed);
  for (std::size_t at = 0; at < m.data.size(); at += most) {
    const std::size_t bytes = std::min(most, m.data.size() - at);
    Packet p = packet(Kind::AM_PIECE);
    p.tag = m.handler;
    if (m.place != 0) {
      p.am_piece.at = m.place + at;
    } else {
      p.am_piece.offset = static_cast<std::uint32_t>(at);
      p.am_piece.bytes = static_cast<std::uint32_t>(m.data.size());
    }
    device().send_packet(world(to), p, {data, at, bytes}, owner);
  }
}

// All packets of a message are handed down before anything polls, so those of two never mix.
ActiveMessages::Sent ActiveMessages::send(int to, const ActiveMessage& m, std::uint8_t flags, bool may_wait) {
  const Rank rank = world(to);
  const bool together = m.data.size() <= kTogetherMost && m.data.size() + m.args.size() <= device().fragment_max(rank);
  Packet p = packet(together && m.place == 0 ? Kind::AM_SHORT : Kind::AM_LONG);
  p.tag = m.handler;
  p.flags = flags;
  const auto args = static_cast<std::uint32_t>(m.args.size());
  if (p.kind == Kind::AM_SHORT) {
    p.am_short.args = args;
  } else {
    p.am_long.at = m.place;
    p.am_long.bytes = m.data.size();
    p.am_long.args = args;
  }
  // Data on its way by packets is in its place when the message has been handled; a reply's, when a request behind it.
  const auto goes_by_packets = [&] {
    if (m.place != 0) peers_[to].placed = peers_[to].sent + (flags & am_flag::reply ? 1 : 0);
  };
  if (together) {
    goes_by_packets();
    const std::size_t bytes = m.data.size() + args;
    std::byte local[kTogetherMost + kArgsMost];
    const bool staged = may_wait && bytes <= kStagedMost;
    std::byte* const all = staged ? staging_of(to) : local;
    if (!m.data.empty()) std::memcpy(all, m.data.data(), m.data.size());
    if (args != 0) std::memcpy(all + m.data.size(), m.args.data(), args);
    if (staged)  // relaxed: with the device held, as its completion is
      carrier_->incomplete.store(carrier_->incomplete.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    device().send_packet(rank, p, {DataView::contiguous(all, bytes), 0, bytes}, staged ? carrier_ : nullptr);
    return Sent::done;
  }
  Request* owner = nullptr;
  if (!may_wait) {  // in a handler, and so in a poll
    send_pieces(to, m, nullptr);
    goes_by_packets();
    device().send_packet(rank, p, {view_of(m.args), 0, args}, nullptr);
    return Sent::done;
  }
  const bool at_once = put_at_once(to, m);
  if (!at_once) {
    owner = device().MPID_Request_create(RequestKind::other);
    goes_by_packets();
  }
  {
    const adi::Device::Together leave_together(device(), rank);
    if (!at_once) send_pieces(to, m, owner);
    device().send_packet(rank, p, {view_of(m.args), 0, args}, nullptr);
  }
  if (!owner) return Sent::done;
  device().MPID_Wait(owner);
  const bool lost = owner->status.error != Errc::ok;
  device().MPID_Request_free(owner);
  return lost ? Sent::lost : Sent::done;
}

ActiveMessages::Sent ActiveMessages::request(int to, const ActiveMessage& m) {
  if (to == me()) {
    ++counters_.requests;
    run_here(m, false);
    return Sent::done;
  }
  Peer& peer = peers_[to];
  while (peer.sent - peer.handled >= kWindow) {
    if (!wait_for_peer(to, peer.sent - kWindow + 1)) return Sent::lost;  // another thread may have come in between
  }
  if (is_lost(to)) return Sent::lost;
  ++peer.sent;
  ++counters_.requests;
  return send(to, m, 0, true);
}

void ActiveMessages::reply(Arrival& to, const ActiveMessage& m) {
  to.may_reply = false;
  ++counters_.replies;
  if (to.source == me())
    run_here(m, true);
  else if (!is_lost(to.source))
    static_cast<void>(send(to.source, m, am_flag::reply, false));
}

}  // namespace rmq::rma
