// SPDX-License-Identifier: BSD-3-Clause
// A set of active messages: its life, and what comes.
#include "rma/am/active_messages.hpp"

#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#include "rma/packet/land_apart.hpp"

namespace rmq::rma {
namespace {

// Requests after which their sender is told that they have been handled.
constexpr std::uint64_t kTellEvery = ActiveMessages::kWindow / 4;
// Of data that a handler is given.
constexpr std::size_t kAlignment = alignof(std::max_align_t);

}  // namespace

// ---- life ----

ActiveMessages::ActiveMessages(Hub& hub, std::uint32_t id, Ranks ranks, int me)
    : Endpoint(hub, {Kind::AM_SHORT, Kind::AM_CREDIT}, id, std::move(ranks), me),
      attached_(static_cast<std::size_t>(size())),
      peers_(size()),
      carrier_(hub.device().MPID_Request_create(RequestKind::other)) {
  hub.add(*this);
}

ActiveMessages::~ActiveMessages() {
  hub().remove(*this);
  device().MPID_Wait(carrier_);
  device().MPID_Request_free(carrier_);
  for (int member = 0; member < size(); ++member) {
    std::free(peers_[member].staged);
    std::free(peers_[member].pieces);
  }
}

// ---- handling ----

void ActiveMessages::run(int from, int handler, bool reply, std::span<const std::byte> args,
                         std::span<std::byte> data) {
  const Bound& bound = handlers_[static_cast<std::size_t>(handler)];
  alignas(kAlignment) std::byte aligned[kArgsMost];
  if (!args.empty()) std::memcpy(aligned, args.data(), args.size());
  Arrival arrival{*this, from, handler, !reply, {aligned, args.size()}, data};
  {
    const adi::Device::Handler handler_runs(device());
    bound.run(arrival, bound.context);
  }
  ++counters_.handled;
}

// The handler may change what it is given, as of others' messages.
void ActiveMessages::run_here(const ActiveMessage& m, bool reply) {
  const std::unique_ptr<std::byte[]> copy(m.place == 0 && !m.data.empty() ? new std::byte[m.data.size()] : nullptr);
  std::byte* const data = m.place != 0 ? reinterpret_cast<std::byte*>(m.place) : copy.get();
  if (!m.data.empty()) std::memmove(data, m.data.data(), m.data.size());
  run(me(), m.handler, reply, m.args, {data, m.data.size()});
}

void ActiveMessages::tell(int member) {
  Peer& peer = peers_[member];
  peer.told = peer.done;
  Packet p = packet(Kind::AM_CREDIT);
  p.am_credit.handled = peer.done;
  device().send_packet(world(member), p, {}, nullptr);
}

// ---- packets ----

const char* ActiveMessages::room_for(int from, const Packet& p, std::byte*& room) {
  const auto& [at, offset, bytes] = p.am_piece;
  if (at != 0) {
    if (!attached(me()).holds(at, p.length)) return "its place is not in attached memory";
    room = reinterpret_cast<std::byte*>(at);
    return nullptr;
  }
  Peer& peer = peers_[from];
  if (offset == 0 && !peer.pieces && bytes > 0 && bytes <= kDataMost) {
    peer.pieces = static_cast<std::byte*>(std::malloc(bytes));
    RMQ_CHECK(peer.pieces != nullptr);
    peer.pieces_bytes = bytes;
    peer.pieces_come = 0;
  }
  if (!peer.pieces || bytes != peer.pieces_bytes || offset != peer.pieces_come || p.length > bytes - offset)
    return "it is no piece that was to come";
  room = peer.pieces + offset;
  return nullptr;
}

// Pieces land where they belong; whatever else is long waits in memory of its own until it is whole.
const char* ActiveMessages::land(int from, const Packet& p, methods::Landing& landing) {
  if (p.kind == Kind::AM_PIECE) {
    std::byte* room = nullptr;
    if (const char* const wrong = room_for(from, p, room)) return wrong;
    landing = {DataView::contiguous(room, p.length), 0, p.length, nullptr};
    return nullptr;
  }
  if (p.length > kDataMost + kArgsMost) return "its payload is longer than any active message's";
  landing = land_apart(device(), p);
  return nullptr;
}

void ActiveMessages::landed(int from, const Packet& p, bool well) {
  if (well) piece_came(from, p);
}

void ActiveMessages::piece_came(int from, const Packet& p) {
  if (p.am_piece.at == 0) peers_[from].pieces_come += p.length;
}

const char* ActiveMessages::arrive(int from, const Packet& p, const std::byte* payload) {
  Peer& peer = peers_[from];
  switch (p.kind) {
    case Kind::AM_PIECE: {
      std::byte* room = nullptr;
      if (const char* const wrong = room_for(from, p, room)) return wrong;
      if (p.length != 0) std::memcpy(room, payload, p.length);
      piece_came(from, p);
      return nullptr;
    }
    case Kind::AM_FLUSH:
      // Each number is told once: nothing is on its way when all that was sent is known to be handled.
      if (peer.told != peer.done) tell(from);
      return nullptr;
    case Kind::AM_CREDIT:
      if (p.am_credit.handled > peer.sent || p.am_credit.handled < peer.handled)
        return "it has handled more than was sent, or less than before";
      peer.handled = p.am_credit.handled;
      return nullptr;
    default:
      break;
  }
  if (const char* const wrong = arrive_whole(from, p, payload)) return wrong;
  if ((p.flags & am_flag::reply) == 0 && ++peer.done - peer.told >= kTellEvery) tell(from);
  return nullptr;
}

const char* ActiveMessages::arrive_whole(int from, const Packet& p, const std::byte* payload) {
  if (p.tag < 0 || p.tag >= kHandlers || !handlers_[static_cast<std::size_t>(p.tag)].run)
    return "it names a handler that is not set here";
  const bool is_short = p.kind == Kind::AM_SHORT, reply = (p.flags & am_flag::reply) != 0;
  const std::uint32_t args = is_short ? p.am_short.args : p.am_long.args;
  if (args > kArgsMost || args > p.length) return "it has fewer bytes of arguments than it says, or too many";
  const std::uint32_t brought = p.length - args;
  const std::span<const std::byte> arguments(payload + brought, args);
  if (is_short) {
    if (brought > kDataMost) return "it brings too much data";
    // What came from elsewhere may lie anywhere, and is not the handler's to change.
    if (brought != 0 && !aligned_) aligned_.reset(new std::byte[kDataMost]);
    if (brought != 0) std::memcpy(aligned_.get(), payload, brought);
    run(from, p.tag, reply, arguments, {brought != 0 ? aligned_.get() : nullptr, brought});
    return nullptr;
  }
  const auto [at, bytes, ignored] = p.am_long;
  if (brought != 0 && brought != bytes) return "it brings some of its data only";
  if (at != 0) {
    if (!attached(me()).holds(at, bytes)) return "its place is not in attached memory";
    auto* const place = reinterpret_cast<std::byte*>(at);
    if (brought != 0) std::memcpy(place, payload, brought);
    run(from, p.tag, reply, arguments, {place, bytes});
    return nullptr;
  }
  Peer& peer = peers_[from];
  if (brought != 0 || !peer.pieces || peer.pieces_come != peer.pieces_bytes || bytes != peer.pieces_bytes)
    return "its data has not come";
  std::byte* const data = std::exchange(peer.pieces, nullptr);
  run(from, p.tag, reply, arguments, {data, bytes});
  std::free(data);
  return nullptr;
}

}  // namespace rmq::rma
