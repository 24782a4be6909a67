// A trace held against the protocol (base/protocol.def): the first packet that breaks it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "tools/trace/file.hpp"

namespace rmq::trace {

/// One broken rule.
struct Violation {
  std::size_t entry = 0;  // of Trace::entries: where it shows
  std::string_view rule;  // name of a machine or a rule in base/protocol.def
  std::string why;        // what was there, and what the rule allows
};

/// The first violation, by time, of all machines and rules; nothing when there is none. The trace must be whole: each
/// rank has its recording, from its first event on (see why_not_checkable). A rank that was killed may end anywhere.
std::optional<Violation> check(const Trace& trace);

/// Empty, or why `trace` cannot be checked and what to do about it.
std::string why_not_checkable(const Trace& trace);

/// The violation as text of several lines: rank, time, packet with its fields, rule.
std::string describe(const Trace& trace, const Violation& violation);

}  // namespace rmq::trace
