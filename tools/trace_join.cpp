#include "tools/trace_join.hpp"

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>

namespace rmq::trace {
namespace {

bool same(const Packet& a, const Packet& b) {
  return a.kind == b.kind && a.msg == b.msg && a.length == b.length && a.tag == b.tag && a.context == b.context &&
         std::memcmp(a.body, b.body, body_bytes(a.kind)) == 0;
}

std::int64_t time_of(const Arrow& a) {
  return a.sent_ns >= 0 ? a.sent_ns : a.received_ns;
}

}  // namespace

std::vector<Arrow> join(const Trace& trace) {
  std::vector<Arrow> arrows;
  std::map<std::pair<int, int>, std::deque<std::size_t>> open_sent, open_received;  // no other end yet
  const auto take = [&](std::deque<std::size_t>& open, const Packet& p) {
    const auto at = std::find_if(open.begin(), open.end(), [&](std::size_t i) { return same(arrows[i].packet, p); });
    if (at == open.end()) return arrows.size();
    const std::size_t found = *at;
    open.erase(at);
    return found;
  };
  for (const Entry& e : trace.entries) {
    const bool sent = e.record.event == Event::packet_sent;
    if (!sent && e.record.event != Event::packet_received) continue;
    const Packet p = e.packet();
    const std::pair<int, int> pair =
        sent ? std::pair{e.rank, int{e.record.peer}} : std::pair{int{e.record.peer}, e.rank};
    // Within the error of the clocks a packet may be noted as received first.
    const std::size_t other = take(sent ? open_received[pair] : open_sent[pair], p);
    if (other < arrows.size()) {
      (sent ? arrows[other].sent_ns : arrows[other].received_ns) = e.ns;
      continue;
    }
    (sent ? open_sent : open_received)[pair].push_back(arrows.size());
    arrows.push_back({sent ? e.ns : -1, sent ? -1 : e.ns, pair.first, pair.second, e.record.method, p});
  }
  for (Arrow& a : arrows) {
    if (a.sent_ns >= 0 && a.received_ns >= 0) a.received_ns = std::max(a.received_ns, a.sent_ns);
  }
  std::stable_sort(arrows.begin(), arrows.end(),
                   [](const Arrow& a, const Arrow& b) { return time_of(a) < time_of(b); });
  return arrows;
}

}  // namespace rmq::trace
