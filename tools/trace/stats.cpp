#include "tools/trace/stats.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <tuple>
#include <vector>

#include "methods/method.hpp"

namespace rmq::trace {
namespace {

struct Traffic {
  std::uint64_t packets = 0, bytes = 0;
};

// A rendezvous is found again by who sent which message to whom.
using MessageId = std::tuple<int, int, std::uint32_t>;

struct Sums {
  std::map<std::pair<std::uint8_t, Kind>, Traffic> sent;  // by method and kind
  std::map<Event, std::uint64_t> events;
  std::map<std::uint64_t, std::uint64_t> waits;           // by reason
  std::map<MessageId, std::int64_t> announced;            // REQUEST_SEND sent at
  std::vector<std::int64_t> matched_ns, done_ns;          // since the announcement, seen by the sender
  std::uint64_t slept_ns = 0;

  void add(const Entry& e);
};

void Sums::add(const Entry& e) {
  const TraceRecord& r = e.record;
  ++events[r.event];
  if (r.event == Event::wake) slept_ns += r.a0;
  if (r.event == Event::pending) ++waits[r.a0];
  const Packet p = e.packet();
  if (r.event == Event::packet_sent) {
    Traffic& t = sent[{r.method, p.kind}];
    ++t.packets;
    t.bytes += wire_bytes(p.kind) + p.length;
    if (p.kind == Kind::REQUEST_SEND) announced[{e.rank, r.peer, p.msg}] = e.ns;
  }
  if (r.event != Event::packet_received) return;
  const auto since = announced.find({e.rank, r.peer, p.msg});
  if (since == announced.end()) return;
  if (p.kind == Kind::OK_TO_SEND) matched_ns.push_back(e.ns - since->second);
  if (p.kind == Kind::RNDV_DONE) done_ns.push_back(e.ns - since->second);
}

double median_us(std::vector<std::int64_t> v) {
  if (v.empty()) return 0;
  std::nth_element(v.begin(), v.begin() + static_cast<std::ptrdiff_t>(v.size() / 2), v.end());
  return static_cast<double>(v[v.size() / 2]) / 1000.0;
}

std::uint64_t count(const Sums& s, Event e) {
  const auto found = s.events.find(e);
  return found == s.events.end() ? 0 : found->second;
}

}  // namespace

std::string stats(const Trace& trace) {
  Sums sums;
  for (const Entry& e : trace.entries) sums.add(e);

  std::string text;
  auto out = std::back_inserter(text);
  std::uint64_t dropped = 0, unfinished = 0;
  for (const Recording& r : trace.ranks) {
    dropped += r.dropped;
    unfinished += !r.finished;
  }
  const double ms = trace.entries.empty() ? 0 : static_cast<double>(trace.entries.back().ns) / 1e6;
  fmt::format_to(out, "{} ranks, {} events in {:.3f} ms", trace.ranks.size(), trace.entries.size(), ms);
  if (dropped) fmt::format_to(out, ", {} events at the end dropped (disk full, or RMQ_TRACE_EVENTS)", dropped);
  if (unfinished) fmt::format_to(out, ", {} ranks did not end properly", unfinished);
  fmt::format_to(out, "\n\n  {:<8} {:<22} {:>12} {:>16}\n", "method", "packets sent", "count", "bytes");
  for (const auto& [key, t] : sums.sent) {
    fmt::format_to(out, "  {:<8} {:<22} {:>12} {:>16}\n", methods::method_name(static_cast<methods::MethodId>(key.first)),
                   packet_name(key.second), t.packets, t.bytes);
  }
  const std::uint64_t matched = count(sums, Event::matched), unexpected = count(sums, Event::unexpected);
  fmt::format_to(out, "\n  messages matched {}, of them unexpected first {} ({:.1f} %)\n", matched, unexpected,
                 matched ? 100.0 * static_cast<double>(unexpected) / static_cast<double>(matched) : 0.0);
  fmt::format_to(out, "  had to wait: link full {}, no credit {}, behind others {}\n", sums.waits[1], sums.waits[2],
                 sums.waits[3]);
  fmt::format_to(out, "  credit returned {} times, starved {} times, sleeps {} ({:.3f} ms in all)\n",
                 count(sums, Event::credit), count(sums, Event::starved), count(sums, Event::sleep),
                 static_cast<double>(sums.slept_ns) / 1e6);
  if (!sums.announced.empty()) {
    fmt::format_to(out, "  rendezvous {}: median until matched {:.1f} us ({}), until fetched by the target {:.1f} us ({})\n",
                   sums.announced.size(), median_us(sums.matched_ns), sums.matched_ns.size(), median_us(sums.done_ns),
                   sums.done_ns.size());
  }
  if (const std::uint64_t errors = count(sums, Event::protocol_error)) {
    fmt::format_to(out, "  PROTOCOL ERRORS {}\n", errors);
  }
  return text;
}

}  // namespace rmq::trace
