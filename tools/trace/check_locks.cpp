// SPDX-License-Identifier: BSD-3-Clause
// The lock table of a window as its target grants it to origins that ask by packets. A grant shows where its answer is
// handed to the link, or put behind others; a release where it arrives. Both err on the side of too few holders, so
// that two holders here were two holders there. Locks taken by loads and stores within a host leave no packet, and are
// not seen. The order is that of the target's events: who asks waits from lock_queued on, for an operation that brings
// the request asks when its payload is there, and is served with lock_granted, for its answer may be long in coming.
#include <fmt/format.h>

#include <algorithm>

#include "rma/packet/fields.hpp"
#include "tools/trace/check_parts.hpp"

namespace rmq::trace {
namespace {

std::string_view name_of(bool exclusive) {
  return exclusive ? "exclusive" : "shared";
}

}  // namespace

Finding Locks::look(const Entry& e, const Packet& p) {
  const auto number = static_cast<unsigned>(p.kind);
  if (e.record.event == Event::packet_received) {
    if (number < 64 || number > 79) return {};
    asked(e, p, tables_[{e.rank, p.context}]);
    return {};
  }
  if (e.record.a1 == 1 && (e.record.event == Event::lock_queued || e.record.event == Event::lock_granted)) {
    Table& t = tables_[{e.rank, static_cast<std::uint32_t>(e.record.a0)}];  // for a peer, in this rank's window
    if (e.record.event == Event::lock_granted) return granted(e.record.peer, t);
    queued(e.record.peer, t);
  }
  if (e.record.event != Event::packet_sent && e.record.event != Event::pending) return {};
  if (p.kind != Kind::RMA_LOCK_GRANTED && p.kind != Kind::RMA_ACK && p.kind != Kind::RMA_REPLY) return {};
  return answered(e, p, tables_[{e.rank, p.context}]);
}

void Locks::asked(const Entry& e, const Packet& p, Table& t) {
  const int origin = e.record.peer;
  const bool operation = p.kind != Kind::RMA_LOCK && p.kind != Kind::RMA_UNLOCK && p.kind != Kind::RMA_FLUSH;
  if ((p.flags & rma::kLockFlags) != 0 && (operation || p.kind == Kind::RMA_LOCK)) {
    t.waiting.push_back({origin, (p.flags & rma_flag::lock_exclusive) != 0, (p.flags & rma_flag::unlock) != 0,
                         operation ? field_of(p, "ticket") : 0});
  } else if (p.kind == Kind::RMA_UNLOCK || (operation && (p.flags & rma_flag::unlock) != 0)) {
    t.holders.erase(origin);
  }
}

void Locks::queued(int origin, Table& t) {
  const auto latest =
      std::find_if(t.waiting.rbegin(), t.waiting.rend(), [&](const Waiting& w) { return w.origin == origin; });
  if (latest != t.waiting.rend() && latest->turn == 0) latest->turn = ++t.turns;
}

Finding Locks::granted(int origin, Table& t) {
  const auto first =
      std::ranges::find_if(t.waiting, [&](const Waiting& w) { return w.origin == origin && !w.granted; });
  if (first == t.waiting.end()) return {};
  first->granted = true;
  return in_order(*first, t);
}

Finding Locks::answered(const Entry& e, const Packet& p, Table& t) {
  const std::uint64_t ticket = p.kind == Kind::RMA_LOCK_GRANTED ? 0 : field_of(p, "ticket");
  if (p.kind != Kind::RMA_LOCK_GRANTED && ticket == 0) return {};
  const auto place = std::find_if(t.waiting.begin(), t.waiting.end(),
                                  [&](const Waiting& w) { return w.origin == e.record.peer && w.ticket == ticket; });
  if (place == t.waiting.end()) return {};  // answers something else
  if (p.kind != Kind::RMA_REPLY && field_of(p, "fault") != 0) {
    t.waiting.erase(place);
    return {};
  }
  return hold(t, static_cast<std::size_t>(place - t.waiting.begin()));
}

Finding Locks::hold(Table& t, std::size_t place) {
  const Waiting w = t.waiting[place];
  t.waiting.erase(t.waiting.begin() + static_cast<std::ptrdiff_t>(place));
  for (const auto& [holder, exclusive] : t.holders) {
    if (!w.exclusive && !exclusive) continue;
    return broken(ProtocolRule::lock_table, fmt::format("rank {} is granted the {} lock while rank {} holds it {}",
                                                        w.origin, name_of(w.exclusive), holder, name_of(exclusive)));
  }
  if (!w.granted)
    if (Finding f = in_order(w, t); f) return f;
  if (!w.passes) t.holders[w.origin] = w.exclusive;
  return {};
}

Finding Locks::in_order(const Waiting& w, Table& t) {
  for (Waiting& other : t.waiting) {
    if (!w.exclusive || other.turn == 0 || other.granted) continue;
    if (other.exclusive && (w.turn == 0 || other.turn < w.turn)) {
      return broken(
          ProtocolRule::lock_order,
          fmt::format("rank {} is granted the exclusive lock before rank {}, who asked first", w.origin, other.origin));
    }
    if (!other.exclusive && ++other.passed_by > 1) {
      return broken(ProtocolRule::lock_order,
                    fmt::format("rank {} is granted the exclusive lock, the {}. to pass rank {}, "
                                "who waits for the shared one",
                                w.origin, other.passed_by, other.origin));
    }
  }
  return {};
}

}  // namespace rmq::trace
