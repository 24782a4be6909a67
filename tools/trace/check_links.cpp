// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "tools/trace/check_parts.hpp"

namespace rmq::trace {
namespace {

// All but the number that the method writes, which the sender's record may not have yet.
bool same(const Packet& a, const Packet& b) {
  constexpr std::size_t kFrom = sizeof a.link;
  return std::memcmp(reinterpret_cast<const std::byte*>(&a) + kFrom, reinterpret_cast<const std::byte*>(&b) + kFrom,
                     wire_bytes(a.kind) - kFrom) == 0;
}

}  // namespace

LinkOrder::LinkOrder(const std::vector<Recording>& ranks) {
  for (const Recording& r : ranks) {
    if (r.finished) finished_.insert(r.rank);
  }
}

Finding LinkOrder::look(const Entry& e, const Packet& p) {
  if (e.sends()) {
    links_[{e.rank, e.record.peer}].sent.push_back(p);
    return {};
  }
  const int from = e.record.peer;
  Way& way = links_[{from, e.rank}];
  ++way.received;
  if (!way.sent.empty() && same(p, way.sent.front())) {
    way.sent.pop_front();
    return {};
  }
  const std::string which = fmt::format("packet {} from rank {} to rank {}", way.received, from, e.rank);
  if (way.sent.empty()) {
    // A rank that was killed may have died between the link and the record: one packet, the last.
    if (!finished_.contains(from) && !std::exchange(way.one_missing, true)) return {};
    return broken(ProtocolRule::sent, fmt::format("{}: that rank has sent only {}", which, way.received - 1));
  }
  const bool elsewhere = std::any_of(way.sent.begin(), way.sent.end(), [&](const Packet& s) { return same(p, s); });
  return elsewhere ? broken(ProtocolRule::order, which + " was sent at another place of the order")
                   : broken(ProtocolRule::sent, which + " was sent with other fields, or has come before");
}

}  // namespace rmq::trace
