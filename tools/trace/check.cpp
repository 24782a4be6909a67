// SPDX-License-Identifier: BSD-3-Clause
#include "tools/trace/check.hpp"

#include <fmt/format.h>

#include "tools/trace/check_parts.hpp"
#include "tools/trace/text.hpp"

namespace rmq::trace {

std::string why_not_checkable(const std::vector<Recording>& ranks) {
  for (const Recording& r : ranks) {
    if (r.dropped == 0) continue;
    return fmt::format(
        "{} events at the end of rank {} could not be written, and a check needs all; record again with more room on "
        "the disk, or a larger --trace-max",
        r.dropped, r.rank);
  }
  const auto size = static_cast<std::size_t>(ranks.front().size);
  if (ranks.size() == size) return "";
  return fmt::format("only {} of the job's {} ranks are here; a check needs all of them", ranks.size(), size);
}

std::string why_not_whole(const std::vector<Recording>& ranks) {
  std::string open;
  std::size_t count = 0;
  for (const Recording& r : ranks) {
    if (r.finished) continue;
    if (++count <= 4) open += fmt::format("{}{}", open.empty() ? "" : ", ", r.rank);
  }
  if (count == 0) return "";
  return fmt::format("{} {}{} ha{} not come to the end: killed, or running still", count == 1 ? "rank" : "ranks", open,
                     count > 4 ? fmt::format(" and {} more", count - 4) : "", count == 1 ? "s" : "ve");
}

struct Check::Parts {
  explicit Parts(const std::vector<Recording>& ranks) : size(static_cast<int>(ranks.size())), order(ranks) {}
  int size;
  LinkOrder order;
  Machines machines;
  Counts counts;
  Locks locks;
};

Check::Check(const std::vector<Recording>& ranks) : parts_(std::make_unique<Parts>(ranks)) {}
Check::~Check() = default;

std::optional<Violation> Check::look(const Entry& e) {
  // What passes to and from processes of other jobs has its other half in their traces.
  if (e.record.peer >= parts_->size) return {};
  const Packet p = e.packet();
  Finding f = e.travels() ? parts_->order.look(e, p) : Finding{};
  if (!f && e.travels()) f = parts_->machines.look(e, p);
  if (!f) f = parts_->counts.look(e, p);
  if (!f) f = parts_->locks.look(e, p);
  if (!f) return {};
  return Violation{e, f.rule, std::move(f.why)};
}

std::string describe(const Violation& v) {
  std::string_view text;
  for (const ProtocolText& r : protocol_rules()) {
    if (r.name == v.rule) text = r.meaning;
  }
  for (const ProtocolMachine& m : protocol_machines()) {
    if (m.name == v.rule) text = m.meaning;
  }
  return fmt::format("the first violation of the protocol\n{}\n  rule {}: {}\n  {}\n", line_of(v.entry), v.rule, text,
                     v.why);
}

}  // namespace rmq::trace
