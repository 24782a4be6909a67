#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "tools/trace/check_parts.hpp"

namespace rmq::trace {
namespace {

// Entries of one direction of a pair, in the order of the rank that recorded them.
struct Link {
  std::vector<std::size_t> sent, received;
};

// All but the number that the method writes, which the sender's record may not have yet.
bool same(const Packet& a, const Packet& b) {
  constexpr std::size_t kFrom = sizeof a.link;
  return std::memcmp(reinterpret_cast<const std::byte*>(&a) + kFrom, reinterpret_cast<const std::byte*>(&b) + kFrom,
                     wire_bytes(a.kind) - kFrom) == 0;
}

}  // namespace

std::optional<Violation> check_links(const Trace& trace) {
  std::map<std::pair<int, int>, Link> links;
  for (std::size_t i = 0; i < trace.entries.size(); ++i) {
    const Entry& e = trace.entries[i];
    if (e.record.event == Event::packet_sent) links[{e.rank, e.record.peer}].sent.push_back(i);
    if (e.record.event == Event::packet_received) links[{e.record.peer, e.rank}].received.push_back(i);
  }
  std::set<int> ended;
  for (const Recording& r : trace.ranks) {
    if (r.finished) ended.insert(r.rank);
  }
  std::optional<Violation> first;
  const auto found = [&](std::size_t entry, Finding f) {
    if (!first || entry < first->entry) first = Violation{entry, f.rule, std::move(f.why)};
  };
  for (const auto& [pair, link] : links) {
    for (std::size_t n = 0; n < link.received.size(); ++n) {
      const std::size_t at = link.received[n];
      const Packet got = trace.entries[at].packet();
      if (n >= link.sent.size()) {
        // A rank that was killed may have died between the link and the record: one packet, the last.
        if (ended.contains(pair.first) || n > link.sent.size()) {
          found(at,
                broken(ProtocolRule::sent, fmt::format("rank {} has sent only {} packets to rank {}; this is number {}",
                                                       pair.first, link.sent.size(), pair.second, n + 1)));
        }
        break;
      }
      if (same(got, trace.entries[link.sent[n]].packet())) continue;
      const bool elsewhere = std::any_of(link.sent.begin(), link.sent.end(),
                                         [&](std::size_t s) { return same(got, trace.entries[s].packet()); });
      const std::string which = fmt::format("packet {} from rank {} to rank {}", n + 1, pair.first, pair.second);
      found(at, elsewhere ? broken(ProtocolRule::order, which + " was sent at another place of the order")
                          : broken(ProtocolRule::sent, which + " was sent with other fields"));
      break;
    }
  }
  return first;
}

}  // namespace rmq::trace
