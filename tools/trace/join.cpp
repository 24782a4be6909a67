#include "tools/trace/join.hpp"

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>
#include <utility>

namespace rmq::trace {
namespace {

// How far a packet is searched for where its neighbours are missing.
constexpr std::ptrdiff_t kFar = 4096;

bool same(const Packet& a, const Packet& b) {
  return a.kind == b.kind && a.msg == b.msg && a.length == b.length && a.tag == b.tag && a.context == b.context &&
         std::memcmp(a.body, b.body, body_bytes(a.kind)) == 0;
}

std::int64_t time_of(const Arrow& a) {
  return a.sent_ns >= 0 ? a.sent_ns : a.received_ns;
}

// Packets of one pair of ranks: first all that were sent, then each that came takes its own.
struct Pair {
  std::vector<std::size_t> sent, received;  // entries
};

}  // namespace

std::vector<Arrow> join(const Trace& trace) {
  std::map<std::pair<int, int>, Pair> pairs;
  for (std::size_t i = 0; i < trace.entries.size(); ++i) {
    const Entry& e = trace.entries[i];
    if (e.record.event == Event::packet_sent) pairs[{e.rank, e.record.peer}].sent.push_back(i);
    if (e.record.event == Event::packet_received) pairs[{e.record.peer, e.rank}].received.push_back(i);
  }
  std::vector<Arrow> arrows;
  for (const auto& [ends, pair] : pairs) {
    std::deque<std::size_t> open;  // arrows that have not come yet
    for (const std::size_t i : pair.sent) {
      const Entry& e = trace.entries[i];
      open.push_back(arrows.size());
      arrows.push_back({e.ns, -1, ends.first, ends.second, e.record.method, e.packet(), i, Arrow::kNone});
    }
    for (const std::size_t i : pair.received) {
      const Entry& e = trace.entries[i];
      const Packet p = e.packet();
      const auto far = open.begin() + std::min<std::ptrdiff_t>(kFar, static_cast<std::ptrdiff_t>(open.size()));
      const auto at = std::find_if(open.begin(), far, [&](std::size_t a) { return same(arrows[a].packet, p); });
      if (at == far) {
        arrows.push_back({-1, e.ns, ends.first, ends.second, e.record.method, p, Arrow::kNone, i});
        continue;
      }
      arrows[*at].received_ns = e.ns;
      arrows[*at].received = i;
      open.erase(at);
    }
  }
  std::stable_sort(arrows.begin(), arrows.end(),
                   [](const Arrow& a, const Arrow& b) { return time_of(a) < time_of(b); });
  return arrows;
}

void put_in_order(Trace& trace) {
  std::vector<Entry>& entries = trace.entries;
  const std::vector<Arrow> arrows = join(trace);
  const bool backwards = std::any_of(arrows.begin(), arrows.end(), [](const Arrow& a) {
    return a.sent != Arrow::kNone && a.received != Arrow::kNone && a.received_ns <= a.sent_ns;
  });
  if (backwards) {
    std::vector<std::size_t> cause(entries.size(), Arrow::kNone);  // of an arrival: its departure
    for (const Arrow& a : arrows) {
      if (a.sent != Arrow::kNone && a.received != Arrow::kNone) cause[a.received] = a.sent;
    }
    struct Lane {
      std::vector<std::size_t> entries;
      std::size_t next = 0;
      std::int64_t now = INT64_MIN;
    };
    std::map<int, Lane> lanes;
    for (std::size_t i = 0; i < entries.size(); ++i) lanes[entries[i].rank].entries.push_back(i);
    std::vector<bool> placed(entries.size());
    std::map<std::size_t, int> waiting;  // departure that is not placed yet → rank that cannot go on before
    std::vector<int> ready;
    for (const auto& [rank, lane] : lanes) ready.push_back(rank);
    while (!ready.empty()) {
      const int rank = ready.back();
      ready.pop_back();
      for (Lane& lane = lanes[rank]; lane.next < lane.entries.size(); ++lane.next) {
        const std::size_t i = lane.entries[lane.next];
        const std::size_t sent = cause[i];
        if (sent != Arrow::kNone && !placed[sent]) {
          waiting[sent] = rank;
          break;
        }
        if (sent != Arrow::kNone) lane.now = std::max(lane.now, entries[sent].ns + 1);
        lane.now = entries[i].ns = std::max(lane.now, entries[i].ns);
        placed[i] = true;
        if (const auto found = waiting.find(i); found != waiting.end()) {
          ready.push_back(found->second);
          waiting.erase(found);
        }
      }
    }
  }
  // Stable: events of one rank keep their order even where the clock does not tell them apart.
  std::stable_sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.ns < b.ns; });
}

}  // namespace rmq::trace
