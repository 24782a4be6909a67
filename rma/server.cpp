// Packets from origins, executed here at their target.
//
// What an origin sends is executed in order. A packet that has to wait, for the lock or for a datatype, is kept with
// its payload, and so is everything behind it from the same origin on the same window. An origin with the lock asked
// for sends nothing more before the answer, so what is kept is one short operation an origin, or what was on its way
// when a datatype had been forgotten.
//
// Answers that an origin does not take wait here: when they fill more than so much (Domain::is_behind), what it sends
// that wants another one is kept as well, until some have left.
//
// Nothing that arrives is trusted: window, member, place, lengths, operation and type are checked; an origin that sends
// a packet which no origin of ours would send is dropped.
#include "rma/server.hpp"

#include <algorithm>
#include <cstdlib>

#include "rma/active.hpp"
#include "rma/apply.hpp"
#include "rma/store.hpp"
#include "rma/wire.hpp"

namespace rmq::rma {
namespace {

constexpr std::uint64_t kCopyMost = 512;  // bytes of an answer that are copied when it has to wait

// Bytes that a get may fetch when its datatype names the same bytes again and again: a definition of a few bytes could
// ask for any number.
constexpr std::uint64_t kRepeatedMost = std::uint64_t{1} << 30;

constexpr std::uint8_t kLockFlags = rma_flag::lock_shared | rma_flag::lock_exclusive;

ReduceOp op_of(const Packet& p) {
  return static_cast<ReduceOp>(static_cast<std::uint32_t>(p.tag) & 0xff);
}

std::optional<Element> element_of_packet(const Packet& p) {
  const auto code = static_cast<std::uint32_t>(p.tag);
  const auto e = element_of(static_cast<Basic>(code >> 8 & 0xff), code >> 16);
  const auto op = static_cast<std::uint8_t>(op_of(p));
  if (!e || op == 0 || op > static_cast<std::uint8_t>(ReduceOp::no_op) || !reduce_defined(op_of(p), e->basic))
    return {};
  return e;
}

// Whether the lock flags make sense: a request names one kind of lock, an operation may bring one along, and nothing
// else has any.
bool may_lock(const Packet& p) {
  const int locks = p.flags & kLockFlags;
  const bool one = locks == rma_flag::lock_shared || locks == rma_flag::lock_exclusive;
  if (p.kind == Kind::RMA_LOCK) return one;
  const bool operation = p.kind != Kind::RMA_UNLOCK && p.kind != Kind::RMA_FLUSH && p.kind != Kind::RMA_SYNC;
  return locks == 0 || (one && operation);
}

bool is_whole(const Packet& p, const Element& e) {
  return p.length % e.packed == 0 && p.rma_put.at % e.packed == 0;
}

// Nothing else waits for an origin that is slow to take its answers: others may wait for what it signals or unlocks.
bool wants_answer(const Packet& p) {
  switch (p.kind) {
    case Kind::RMA_SYNC:
    case Kind::RMA_UNLOCK:
      return false;
    case Kind::RMA_PUT:
    case Kind::RMA_ACCUMULATE:
      return (p.flags & kLockFlags) != 0 || p.rma_put.ticket != 0;
    default:
      return true;
  }
}

}  // namespace

Origin& Server::origin(int rank) {
  auto& slot = origins_[static_cast<std::size_t>(rank)];
  if (!slot) {
    slot = std::make_unique<Origin>();
    slot->rank = rank;
    slot->world = w_.world(rank);
  }
  return *slot;
}

void Server::arrive(int from, const Packet& p, const std::byte* payload) {
  Origin& o = origin(from);
  const bool behind = wants_answer(p) && w_.domain.is_behind(o.world);
  if (!o.held.empty() || behind || !process(o, p, payload, false)) hold(o, p, payload);
  if (behind) w_.domain.resume_later(*this, o);
}

// Keeps what has to wait. No origin of ours has more under way than a flight, and some small packets besides.
void Server::hold(Origin& o, const Packet& p, const std::byte* payload) {
  constexpr std::uint64_t kHeldMost = kFlightMost + kFlightMost / 4;
  if (o.held_bytes + p.length + kPacketCost > kHeldMost)
    return w_.domain.protocol_error(o.world, p, "it has more under way than it may");
  o.held_bytes += p.length + kPacketCost;
  w_.domain.counters_.held_most = std::max(w_.domain.counters_.held_most, o.held_bytes);
  Held h{p, nullptr};
  if (p.length > 0) {
    h.payload = std::make_unique_for_overwrite<std::byte[]>(p.length);
    std::memcpy(h.payload.get(), payload, p.length);
  }
  o.held.push_back(std::move(h));
}

// Goes on with what was kept; `locked`: the first of it has got its lock.
void Server::run(Origin& o, bool locked) {
  o.running = true;  // what is executed stays where it is, also when an answer shows that the origin is lost
  while (!o.held.empty()) {
    const Held& h = o.held.front();
    if (!locked && wants_answer(h.packet) && w_.domain.is_behind(o.world)) {
      w_.domain.resume_later(*this, o);
      break;
    }
    if (!process(o, h.packet, h.payload.get(), locked)) break;
    locked = false;
    drop_first(o);
  }
  o.running = false;
  if (o.lost) drop_all(o);
}

void Server::resume(int from) {
  Origin& o = origin(from);
  o.behind = false;
  if (o.lock != Origin::Lock::waiting && o.missing == 0) run(o, false);  // else whoever ends that wait goes on
}

void Server::peer_lost(int rank) {
  auto& o = origins_[static_cast<std::size_t>(rank)];
  if (!o) return;
  o->lost = true;
  drop_all(*o);
  if (o->lock == Origin::Lock::held) release_lock(*o);
}

void Server::drop_all(Origin& o) {
  if (o.running) return;
  o.held.clear();
  o.held_bytes = 0;
}

void Server::drop_first(Origin& o) {
  o.held_bytes -= o.held.front().packet.length + kPacketCost;
  o.held.pop_front();
}

void Server::retry_type(int from, std::uint32_t id) {
  Origin& o = origin(from);
  if (o.missing != id) return;
  o.missing = 0;
  if (o.lock != Origin::Lock::waiting) run(o, o.lock == Origin::Lock::held);
}

/// Executes a packet; false when it has to wait.
bool Server::process(Origin& o, const Packet& p, const std::byte* payload, bool locked) {
  if (!may_lock(p)) {
    w_.domain.protocol_error(o.world, p, "it may not ask for a lock like this");
    return true;
  }
  if ((p.flags & kLockFlags) != 0 && !locked) {
    if (o.lock != Origin::Lock::none) {
      w_.domain.protocol_error(o.world, p, "it asks for a lock that it has, or waits for");
      return true;
    }
    if (!take_lock(o, (p.flags & rma_flag::lock_shared) != 0 ? LockType::shared : LockType::exclusive)) return false;
  }
  switch (p.kind) {
    case Kind::RMA_LOCK: {
      Packet granted = w_.packet(Kind::RMA_LOCK_GRANTED);
      w_.device().MPID_Send_packet(o.world, granted, Payload{}, nullptr);
      return true;
    }
    case Kind::RMA_UNLOCK:
    case Kind::RMA_FLUSH:
      if (p.kind == Kind::RMA_UNLOCK) release_lock(o);
      if (ticket_of(p) != 0) acknowledge(o, ticket_of(p), Fault::none);
      return true;
    case Kind::RMA_SYNC:
      if (!active_.signalled(o.rank, p)) w_.domain.protocol_error(o.world, p, "it signals nothing that there is");
      return true;
    default:
      return execute(o, p, payload);
  }
}

bool Server::execute(Origin& o, const Packet& p, const std::byte* payload) {
  ++w_.domain.counters_.served;
  if (is_single(p.kind)) {
    after(o, p, execute_one(o, p, payload));
    return true;
  }
  DataView view;
  bool missing = false;
  Fault fault = find_place(o, p, view, missing);
  if (missing) return false;
  if (fault == Fault::none) {
    switch (p.kind) {
      case Kind::RMA_PUT:
        if (view.is_contiguous())
          store_once(view.base + p.rma_put.at, payload, p.length);
        else
          unpack(view, p.rma_put.at, payload, p.length);
        break;
      case Kind::RMA_GET:
        fault = execute_get(o, view, p);
        break;
      default:
        fault = execute_combine(o, view, p, payload);
    }
  }
  after(o, p, fault);
  return true;
}

// Where an operation's data lies, or that its datatype has to be asked for.
Fault Server::find_place(Origin& o, const Packet& p, DataView& view, bool& missing) {
  const auto& f = p.rma_put;
  const bool dynamic = w_.is_dynamic();
  const Layout* layout = nullptr;
  if (f.type != 0) {
    layout = w_.domain.types_in_.find(o.world, f.type);
    if (!layout) {
      missing = true;
      if (o.missing == f.type) return Fault::none;  // asked for already
      o.missing = f.type;
      Packet miss(Kind::DATATYPE_MISS);
      miss.datatype_miss.type = f.type;
      w_.device().MPID_Send_packet(o.world, miss, Payload{}, nullptr);
      return Fault::none;
    }
  }
  std::byte* at = moved(dynamic ? nullptr : w_.my_memory, static_cast<std::int64_t>(f.offset));
  if (layout) {
    std::uint64_t bytes = 0;
    if (__builtin_mul_overflow(layout->size(), f.count, &bytes)) return Fault::range;
    const bool inside = dynamic ? w_.attached.contains(*layout, f.count, f.offset)
                                : lies_within(*layout, f.count, f.offset, w_.options.size);
    if (!inside) return Fault::range;
    if (bytes > kRepeatedMost && span_of(*layout, f.count).length < bytes) return Fault::type;
    view = layout->view(at, f.count);
  } else {
    const bool inside = dynamic ? w_.attached.contains(f.offset, f.count)
                                : f.offset <= w_.options.size && f.count <= w_.options.size - f.offset;
    if (!inside) return Fault::range;
    view = DataView::contiguous(at, f.count);
  }
  if (f.at > view.bytes || p.length > view.bytes - f.at) return Fault::protocol;
  return Fault::none;
}

Regions Server::regions_for(const Origin& o) const {
  const Reach& mine = w_.at(w_.me());
  Regions r;
  if (!w_.shares || (o.lock == Origin::Lock::held && o.place.type == LockType::exclusive)) return r;
  r.control = w_.my_control;
  r.base = w_.my_memory;
  r.shift = mine.shift;
  r.me = w_.me();
  r.device = &w_.device();
  r.world = w_.options.ranks.data();
  return r;
}

Fault Server::execute_get(Origin& o, const DataView& view, const Packet& p) {
  Request* owner = nullptr;
  if (view.bytes > kCopyMost) {
    owner = w_.device().MPID_Request_create(RequestKind::other);
    if (p.rma_get.type != 0) {
      // The cache may forget the datatype before all of the answer has left.
      view.layout ? view.layout->retain() : static_cast<void>(0);
      if (view.layout) owner->layout = LayoutRef(view.layout);
    }
  }
  reply(o, p.rma_get.ticket, Payload{view, 0, view.bytes}, 0, owner);
  return Fault::none;
}

Fault Server::execute_combine(Origin& o, const DataView& view, const Packet& p, const std::byte* payload) {
  const auto e = element_of_packet(p);
  const bool fetches = p.kind == Kind::RMA_GET_ACCUMULATE;
  if (!e || !is_whole(p, *e) || view.bytes % e->packed != 0) return Fault::protocol;
  if (view.layout && (view.layout->element() != e->basic || view.layout->element_size() != e->packed))
    return Fault::type;
  const Regions regions = regions_for(o);
  const ReduceOp op = op_of(p);
  if (!fetches) {
    if (op != ReduceOp::no_op) combine(op, *e, view, p.rma_put.at, payload, p.length, nullptr, regions);
    return Fault::none;
  }
  // With no_op the packet asks for a piece; else it brings, and fetches, its own.
  const std::uint64_t at = p.rma_put.at, piece = std::max<std::uint64_t>(kPieceMost / e->packed, 1) * e->packed;
  const std::uint64_t bytes = op == ReduceOp::no_op ? std::min(piece, view.bytes - at) : p.length;
  Request* owner = w_.device().MPID_Request_create(RequestKind::other);
  // Zeroes: an element that a hostile datatype tears apart is not fetched, and nothing else of ours is told instead.
  owner->owned = static_cast<std::byte*>(std::calloc(std::max<std::uint64_t>(bytes, 1), 1));
  RMQ_CHECK(owner->owned != nullptr);
  owner->owned_bytes = bytes;
  combine(op, *e, view, at, op == ReduceOp::no_op ? nullptr : payload, bytes, owner->owned, regions);
  const Payload before{DataView::contiguous(owner->owned, bytes), 0, bytes};
  reply(o, p.rma_get_accumulate.ticket, before, at, owner);
  return Fault::none;
}

Fault Server::execute_one(Origin& o, const Packet& p, const std::byte* payload) {
  const auto e = element_of_packet(p);
  const std::uint64_t offset = p.rma_fetch_op.offset;
  if (!e || e->has_gap()) return Fault::protocol;
  const bool dynamic = w_.is_dynamic();
  const bool inside = dynamic ? w_.attached.contains(offset, e->packed)
                              : offset <= w_.options.size && e->packed <= w_.options.size - offset;
  if (!inside) return Fault::range;
  std::byte* at = moved(dynamic ? nullptr : w_.my_memory, static_cast<std::int64_t>(offset));
  alignas(16) std::array<std::byte, 32> before{};
  if (p.kind == Kind::RMA_CAS) {
    if (!can_compare(*e) || p.length != 2 * e->packed) return Fault::protocol;
    rma::compare_and_swap(*e, at, payload, payload + e->packed, before.data(), regions_for(o));
  } else {
    if (e->packed > before.size() || (op_of(p) != ReduceOp::no_op && p.length != e->packed)) return Fault::protocol;
    combine_one(op_of(p), *e, at, payload, before.data(), regions_for(o));
  }
  reply(o, p.rma_fetch_op.ticket, Payload{DataView::contiguous(before.data(), e->packed), 0, e->packed}, 0, nullptr);
  return Fault::none;
}

// What follows every operation: release of the lock, the acknowledgement or the bad news.
void Server::after(Origin& o, const Packet& p, Fault fault) {
  if ((p.flags & rma_flag::unlock) != 0) release_lock(o);
  if (fault == Fault::protocol) return w_.domain.protocol_error(o.world, p, "its data does not fit what it says of it");
  if (fault != Fault::none || (p.flags & rma_flag::ack) != 0) acknowledge(o, ticket_of(p), fault);
}

/// Sends `data`, which belongs at `at` of the result. With an owner the data stays in place until it has left.
void Server::reply(const Origin& o, std::uint32_t ticket, const Payload& data, std::uint64_t at, Request* owner) {
  const std::uint64_t most = w_.device().MPID_Fragment_max(o.world);
  const std::uint64_t pieces = std::max<std::uint64_t>((data.bytes + most - 1) / most, 1);
  if (owner) {
    owner->flags = request_flag::detached;
    owner->incomplete.store(static_cast<std::int32_t>(pieces), std::memory_order_relaxed);  // known to nobody else
  }
  for (std::uint64_t i = 0; i < pieces; ++i) {
    Packet p = w_.packet(Kind::RMA_REPLY);
    p.rma_reply = {at + i * most, ticket};
    const Payload piece{data.view, data.offset + i * most, std::min(most, data.bytes - i * most)};
    w_.device().MPID_Send_packet(o.world, p, piece, owner);
  }
}

void Server::acknowledge(const Origin& o, std::uint32_t ticket, Fault fault, Rank culprit) {
  Packet p = w_.packet(Kind::RMA_ACK);
  p.rma_ack = {ticket, static_cast<std::uint32_t>(fault), static_cast<std::uint32_t>(culprit + 1)};
  w_.device().MPID_Send_packet(o.world, p, Payload{}, nullptr);
}

// Whether a put whose payload is still in the transport may land in the window at once.
bool Server::land(int from, const Packet& p, methods::Landing& landing) {
  Origin& o = origin(from);
  if (p.kind != Kind::RMA_PUT || !o.held.empty() || (p.flags & kLockFlags) != 0) return false;
  if (p.rma_put.type != 0 && !w_.domain.types_in_.find(o.world, p.rma_put.type)) return false;
  DataView view;
  bool missing = false;
  if (find_place(o, p, view, missing) != Fault::none || missing) return false;
  landing.into = view;
  landing.offset = p.rma_put.at;
  landing.bytes = p.length;
  if (view.layout) {  // the cache may forget it meanwhile
    landing.owner = w_.device().MPID_Request_create(RequestKind::other);
    view.layout->retain();
    landing.owner->layout = LayoutRef(view.layout);
  }
  return true;
}

}  // namespace rmq::rma
