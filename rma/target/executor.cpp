// SPDX-License-Identifier: BSD-3-Clause
#include "rma/target/executor.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <optional>

#include "rma/memory/apply.hpp"
#include "rma/memory/store.hpp"
#include "rma/packet/fields.hpp"
#include "rma/packet/put_list.hpp"

namespace rmq::rma {
namespace {

// Bytes that a get may fetch when its datatype names the same bytes again and again: a definition of a few bytes could
// ask for any number.
constexpr std::uint64_t kRepeatedMost = std::uint64_t{1} << 30;

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

struct Range {
  std::uint64_t at, bytes;
};
// Of the `bytes` that an operation names, those that this packet accesses, or more: a get asks for all.
Range accessed(const Packet& p, std::uint64_t bytes) {
  if (p.kind == Kind::RMA_GET) return {0, bytes};
  const std::uint64_t at = std::min(bytes, p.rma_put.at);
  return {at, std::min(bytes - at, p.length > 0 ? p.length : kPieceMost)};
}

bool is_whole(const Packet& p, const Element& e) {
  return p.length % e.packed == 0 && p.rma_put.at % e.packed == 0;
}

}  // namespace

bool Executor::execute(Origin& o, const Packet& p, const std::byte* payload) {
  ++core_.domain.count().served;
  if (is_single(p.kind)) {
    after(o, p, execute_one(o, p, payload));
    return true;
  }
  if (p.kind == Kind::RMA_PUT_LIST) {
    after(o, p, execute_list(p, payload));
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
Fault Executor::find_place(Origin& o, const Packet& p, DataView& view, bool& missing) {
  const auto& f = p.rma_put;
  const Layout* layout = nullptr;
  if (f.type != 0) {
    layout = core_.domain.types_in().find(o.world, f.type);
    if (!layout) {
      missing = true;
      if (o.missing == f.type) return Fault::none;  // asked for already
      o.missing = f.type;
      Packet miss(Kind::DATATYPE_MISS);
      miss.datatype_miss.type = f.type;
      core_.device().send_packet(o.world, miss, Payload{}, nullptr);
      return Fault::none;
    }
  }
  std::byte* const at = address(f.offset);
  if (layout) {
    std::uint64_t bytes = 0;
    if (__builtin_mul_overflow(layout->size(), f.count, &bytes)) return Fault::range;
    if (bytes > kRepeatedMost && span_of(*layout, f.count).length < bytes) return Fault::type;
    const Range range = accessed(p, bytes);
    const bool inside = core_.is_dynamic() ? core_.attached.covers(*layout, f.count, f.offset, range.at, range.bytes)
                                           : lies_within(*layout, f.count, f.offset, core_.options.size);
    if (!inside) return Fault::range;
    view = layout->view(at, f.count);
  } else {
    if (!contains(f.offset, f.count)) return Fault::range;
    view = DataView::contiguous(at, f.count);
  }
  if (f.at > view.bytes || p.length > view.bytes - f.at) return Fault::protocol;
  return Fault::none;
}

bool Executor::may_land(Origin& o, const Packet& p, DataView& view) {
  if (p.rma_put.type != 0 && !core_.domain.types_in().find(o.world, p.rma_put.type)) return false;
  bool missing = false;
  return find_place(o, p, view, missing) == Fault::none && !missing;
}

// Whether these bytes are of my window memory.
bool Executor::contains(std::uint64_t offset, std::uint64_t bytes) const {
  if (core_.is_dynamic()) return core_.attached.covers(offset, bytes);
  return offset <= core_.options.size && bytes <= core_.options.size - offset;
}

std::byte* Executor::address(std::uint64_t offset) const {
  return core_.is_dynamic() ? core_.attached.at(offset) : moved(core_.base, static_cast<std::int64_t>(offset));
}

// What an accumulate of this origin has to lock.
Regions Executor::regions_for(const Origin& o) const {
  return core_.regions(core_.at(core_.me), o.lock == Origin::Lock::held && o.place.type == LockType::exclusive);
}

Fault Executor::execute_get(Origin& o, const DataView& view, const Packet& p) {
  Request* owner = nullptr;
  if (view.bytes > kCopyMost) {
    owner = core_.device().MPID_Request_create(RequestKind::other);
    o.watch(owner);
    if (p.rma_get.type != 0) {
      // The cache may forget the datatype before all of the answer has left.
      view.layout ? view.layout->retain() : static_cast<void>(0);
      if (view.layout) owner->layout = LayoutRef(view.layout);
    }
  }
  reply(o, p.rma_get.ticket, Payload{view, 0, view.bytes}, 0, owner);
  return Fault::none;
}

Fault Executor::execute_combine(Origin& o, const DataView& view, const Packet& p, const std::byte* payload) {
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
  Request* owner = core_.device().MPID_Request_create(RequestKind::other);
  // Zeroes: an element that a hostile datatype tears apart is not fetched, and nothing else of ours is told instead.
  owner->owned = static_cast<std::byte*>(std::calloc(std::max<std::uint64_t>(bytes, 1), 1));
  RMQ_CHECK(owner->owned != nullptr);
  owner->owned_bytes = bytes;
  combine(op, *e, view, at, op == ReduceOp::no_op ? nullptr : payload, bytes, owner->owned, regions);
  const Payload before{DataView::contiguous(owner->owned, bytes), 0, bytes};
  reply(o, p.rma_get_accumulate.ticket, before, at, owner);
  return Fault::none;
}

// One that names no memory of mine does not stop the others: as if each came alone. The first fault.
Fault Executor::execute_list(const Packet& p, const std::byte* payload) {
  Fault fault = Fault::none;
  ListReader list(payload, p.length);
  std::uint32_t puts = 0;
  for (; !list.is_at_end(); ++puts) {
    const auto one = list.next();
    if (!one) return Fault::protocol;
    if (contains(one->offset, one->bytes)) [[likely]]
      store_once(address(one->offset), one->data, one->bytes);
    else if (fault == Fault::none)
      fault = Fault::range;
  }
  return puts > 0 && puts == p.rma_put_list.puts ? fault : Fault::protocol;
}

Fault Executor::execute_one(Origin& o, const Packet& p, const std::byte* payload) {
  const auto e = element_of_packet(p);
  const std::uint64_t offset = p.rma_fetch_op.offset;
  if (!e || e->has_gap()) return Fault::protocol;
  if (!contains(offset, e->packed)) return Fault::range;
  std::byte* const at = address(offset);
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
void Executor::after(Origin& o, const Packet& p, Fault fault) {
  if ((p.flags & rma_flag::unlock) != 0) lock_.release_for(o);
  if (fault == Fault::protocol)
    return core_.domain.protocol_error(o.world, p, "its data does not fit what it says of it");
  // Once for an operation: its origin may have heard, and told, before the next piece comes.
  const bool again = goes_on(p) && o.told;
  if (again) fault = Fault::none;
  o.told = again || fault != Fault::none;
  if (fault != Fault::none || (p.flags & rma_flag::ack) != 0) acknowledge(o, ticket_of(p), fault);
}

// Sends `data`, which belongs at `at` of the result. With an owner the data stays in place until it has left.
void Executor::reply(const Origin& o, std::uint32_t ticket, const Payload& data, std::uint64_t at, Request* owner) {
  const std::uint64_t most = core_.device().fragment_max(o.world);
  const std::uint64_t pieces = std::max<std::uint64_t>((data.bytes + most - 1) / most, 1);
  if (owner) {
    owner->flags = request_flag::detached;
    owner->incomplete.store(static_cast<std::int32_t>(pieces), std::memory_order_relaxed);  // known to nobody else
  }
  for (std::uint64_t i = 0; i < pieces; ++i) {
    Packet p = core_.packet(Kind::RMA_REPLY);
    p.rma_reply = {at + i * most, ticket};
    const Payload piece{data.view, data.offset + i * most, std::min(most, data.bytes - i * most)};
    core_.device().send_packet(o.world, p, piece, owner);
  }
}

void Executor::acknowledge(const Origin& o, std::uint32_t ticket, Fault fault, Rank culprit) {
  Packet p = core_.packet(Kind::RMA_ACK);
  p.rma_ack = {ticket, static_cast<std::uint32_t>(fault), core_.name_of(culprit)};
  if (lock_.has_writers(o)) p.flags = kWriters;
  core_.device().send_packet(o.world, p, Payload{}, nullptr);
}

}  // namespace rmq::rma
