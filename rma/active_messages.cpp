#include "rma/active_messages.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#include "rma/land_apart.hpp"

namespace rmq::rma {
namespace {

// Data that is copied behind the arguments, so that the message is one packet.
constexpr std::size_t kTogetherMost = 8 * 1024;
// Data for a place from which on a copy between the processes is worth asking for.
constexpr std::size_t kAtOnceLeast = kTogetherMost;
// Requests after which their sender is told that they have been handled.
constexpr std::uint64_t kTellEvery = ActiveMessages::kWindow / 4;
// Of data that a handler is given.
constexpr std::size_t kAlignment = alignof(std::max_align_t);

DataView view_of(std::span<const std::byte> data) {
  return DataView::contiguous(const_cast<std::byte*>(data.data()), data.size());
}

}  // namespace

// ---- the hub ----

ActiveMessageHub::ActiveMessageHub(adi::Device& device) : device_(device) {
  device.register_extension(Kind::AM_SHORT, Kind::AM_CREDIT, *this);
}

ActiveMessageHub::~ActiveMessageHub() {
  device_.unregister_extension(*this);
}

ActiveMessages* ActiveMessageHub::set_of(Rank from, const Packet& p) const {
  const auto at = std::find_if(sets_.begin(), sets_.end(), [&](const auto* s) { return s->id_ == p.context; });
  if (at == sets_.end()) return nullptr;
  const bool known = p.source >= 0 && p.source < (*at)->size() && (*at)->world(p.source) == from;
  return known ? *at : nullptr;
}

void ActiveMessageHub::on_packet(Rank from, const Packet& p, const std::byte* payload) {
  ActiveMessages* const set = set_of(from, p);
  if (!set) return device_.stray_packet(from, p);
  if (const char* const wrong = set->arrive(p.source, p, payload)) device_.protocol_error(from, p, wrong);
}

// Pieces land where they belong; whatever else is long waits in memory of its own until it is whole.
methods::Landing ActiveMessageHub::on_arriving(Rank from, const Packet& p) {
  ActiveMessages* const set = set_of(from, p);
  if (!set) {
    device_.stray_packet(from, p);
    return {};
  }
  std::byte* room = nullptr;
  if (p.kind == Kind::AM_PIECE) {
    if (const char* const wrong = set->room_for(p.source, p, room)) {
      device_.protocol_error(from, p, wrong);
      return {};
    }
    return {DataView::contiguous(room, p.length), 0, p.length, nullptr};
  }
  if (p.length > ActiveMessages::kDataMost + ActiveMessages::kArgsMost) {
    device_.protocol_error(from, p, "its payload is longer than any active message's");
    return {};
  }
  return land_apart(device_, p);
}

void ActiveMessageHub::on_landed(Rank from, const Packet& p, const methods::Landing& landing, Errc error) {
  if (landing.owner) {
    if (error == Errc::ok) on_packet(from, p, landing.owner->owned);
    device_.MPID_Request_free(landing.owner);
    return;
  }
  ActiveMessages* const set = set_of(from, p);
  if (set && error == Errc::ok && landing.bytes == p.length) set->piece_came(p.source, p);
}

// ---- life ----

ActiveMessages::ActiveMessages(ActiveMessageHub& hub, std::uint32_t id, Ranks ranks, int me)
    : hub_(hub),
      id_(id),
      ranks_(std::move(ranks)),
      me_(me),
      attached_(static_cast<std::size_t>(ranks_.size())),
      peers_(ranks_.size()),
      carrier_(hub.device().MPID_Request_create(RequestKind::other)) {
  hub.sets_.push_back(this);
}

ActiveMessages::~ActiveMessages() {
  std::erase(hub_.sets_, this);
  device().MPID_Wait(carrier_);
  device().MPID_Request_free(carrier_);
  for (int member = 0; member < size(); ++member) {
    std::free(peers_[member].staged);
    std::free(peers_[member].pieces);
  }
}

// ---- sending ----

/// What a call waits for, for reports.
struct ActiveMessages::Waited {
  Rank peer;  // that is to handle requests; kNoRank: for a message of any
  static void tell(const void* object, ReportText& to) {
    const auto& w = *static_cast<const Waited*>(object);
    to.begin_object();
    to.field("kind", w.peer == kNoRank ? "any_message" : "handler");
    if (w.peer != kNoRank) to.field("peer", w.peer);
    to.end_object();
  }
};

// Until the member has told that so many requests have been handled. False: it is lost.
bool ActiveMessages::wait_for_peer(int member, std::uint64_t handled) {
  const Peer& peer = peers_[member];
  const Waited waited{world(member)};
  while (peer.handled < handled) {
    if (is_lost(member)) return false;
    device().MPID_Poll(true, {Waited::tell, &waited});
  }
  return true;
}

// Not while data that went by packets may still come there: it would overwrite what is newer.
bool ActiveMessages::put_at_once(int to, const ActiveMessage& m) {
  const Peer& peer = peers_[to];
  return m.place != 0 && m.data.size() >= kAtOnceLeast && peer.handled >= peer.placed &&
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
    Packet p(Kind::AM_PIECE);
    p.context = id_;
    p.source = me_;
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
  const bool together =
      m.data.size() <= kTogetherMost && m.data.size() + m.args.size() <= device().fragment_max(rank);
  Packet p(together && m.place == 0 ? Kind::AM_SHORT : Kind::AM_LONG);
  p.context = id_;
  p.source = me_;
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
  if (to == me_) {
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
  if (to.source == me_)
    run_here(m, true);
  else if (!is_lost(to.source))
    static_cast<void>(send(to.source, m, am_flag::reply, false));
}

void ActiveMessages::ask(int member) {
  Peer& peer = peers_[member];
  if (peer.handled == peer.sent || peer.asked == peer.sent || is_lost(member)) return;
  peer.asked = peer.sent;
  Packet p(Kind::AM_FLUSH);
  p.context = id_;
  p.source = me_;
  device().send_packet(world(member), p, {}, nullptr);
}

ActiveMessages::Sent ActiveMessages::flush(int to) {
  if (to == me_) return Sent::done;
  ask(to);
  return wait_for_peer(to, peers_[to].sent) ? Sent::done : Sent::lost;
}

ActiveMessages::Sent ActiveMessages::flush_all() {
  std::vector<std::pair<int, std::uint64_t>> all;
  for (int member = 0; member < size(); ++member) {
    if (peers_[member].handled == peers_[member].sent) continue;
    ask(member);
    all.emplace_back(member, peers_[member].sent);
  }
  Sent sent = Sent::done;
  for (const auto& [member, number] : all) {
    if (!wait_for_peer(member, number)) sent = Sent::lost;
  }
  return sent;
}

ActiveMessages::Sent ActiveMessages::wait(std::uint64_t seen) {
  const Waited waited{kNoRank};
  for (;;) {
    if (counters_.handled > seen) return Sent::done;
    // What the others have sent comes first.
    const bool lost = is_any_lost();
    device().MPID_Poll(!lost, {Waited::tell, &waited});
    if (lost && counters_.handled <= seen) return Sent::lost;
  }
}

bool ActiveMessages::is_any_lost() const {
  if (!device().any_lost()) return false;
  for (int member = 0; member < size(); ++member)
    if (is_lost(member)) return true;
  return false;
}

void ActiveMessages::hear_of_deaths() {
  for (int member = 0; member < size(); ++member) {
    const Rank rank = world(member);
    const Waited waited{rank};
    while (device().is_dead(device().process_of(rank)) && device().has_met(rank) && !is_lost(member))
      device().MPID_Poll(true, {Waited::tell, &waited});
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
  run(me_, m.handler, reply, m.args, {data, m.data.size()});
}

void ActiveMessages::tell(int member) {
  Peer& peer = peers_[member];
  peer.told = peer.done;
  Packet p(Kind::AM_CREDIT);
  p.context = id_;
  p.source = me_;
  p.am_credit.handled = peer.done;
  device().send_packet(world(member), p, {}, nullptr);
}

// ---- packets ----

const char* ActiveMessages::room_for(int from, const Packet& p, std::byte*& room) {
  const auto& [at, offset, bytes] = p.am_piece;
  if (at != 0) {
    if (!attached(me_).holds(at, p.length)) return "its place is not in attached memory";
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
    if (!attached(me_).holds(at, bytes)) return "its place is not in attached memory";
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
