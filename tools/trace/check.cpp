#include "tools/trace/check.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "tools/trace/check_parts.hpp"
#include "tools/trace/text.hpp"

namespace rmq::trace {

std::string why_not_checkable(const Trace& trace) {
  for (const Recording& r : trace.ranks) {
    if (r.dropped == 0) continue;
    return fmt::format(
        "{} events at the end of rank {} could not be written, and a check needs all; record again with more room on "
        "the disk, or a larger RMQ_TRACE_EVENTS",
        r.dropped, r.rank);
  }
  const auto size = static_cast<std::size_t>(trace.ranks.front().size);
  if (trace.ranks.size() == size) return "";
  return fmt::format("only {} of the job's {} ranks are here; a check needs all of them", trace.ranks.size(), size);
}

std::optional<Violation> check(const Trace& trace) {
  const std::optional<Violation> link = check_links(trace);
  Machines machines;
  Counts counts(trace);
  Locks locks;
  for (std::size_t i = 0; i < trace.entries.size(); ++i) {
    if (link && link->entry == i) return link;
    const Entry& e = trace.entries[i];
    const Packet p = e.packet();
    const bool travels = e.record.event == Event::packet_sent || e.record.event == Event::packet_received;
    Finding f = travels ? machines.look(e, p) : Finding{};
    if (!f) f = counts.look(e, p);
    if (!f) f = locks.look(e, p);
    if (f) return Violation{i, f.rule, std::move(f.why)};
  }
  return {};
}

std::string describe(const Trace& trace, const Violation& v) {
  std::string_view text;
  for (const ProtocolText& r : protocol_rules()) {
    if (r.name == v.rule) text = r.meaning;
  }
  for (const ProtocolMachine& m : protocol_machines()) {
    if (m.name == v.rule) text = m.meaning;
  }
  return fmt::format("the first violation of the protocol\n{}\n  rule {}: {}\n  {}\n", line_of(trace.entries[v.entry]),
                     v.rule, text, v.why);
}

}  // namespace rmq::trace
