// SPDX-License-Identifier: BSD-3-Clause
// A trace held against the protocol (base/packet/protocol.def): the first packet that breaks it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/trace/reader.hpp"

namespace rmq::trace {

/// One broken rule.
struct Violation {
  Entry entry;            // where it shows
  std::string_view rule;  // name of a machine or a rule in base/packet/protocol.def
  std::string why;        // what was there, and what the rule allows
};

/// Looks at the events of a whole trace (why_not_checkable()), in the order of Reader::each. It remembers the
/// conversations that are open and the packets on their way, and of what is over only which handles have been used.
class Check {
 public:
  explicit Check(const std::vector<Recording>& ranks);
  ~Check();
  /// The first violation, if it is this event. A rank that was killed may end anywhere.
  std::optional<Violation> look(const Entry& e);

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

/// Empty, or why a trace of these recordings cannot be checked and what to do about it.
std::string why_not_checkable(const std::vector<Recording>& ranks);

/// Empty, or which ranks have not come to their end: what they still had to do is in no trace.
std::string why_not_whole(const std::vector<Recording>& ranks);

/// The violation as text of several lines: rank, time, packet with its fields, rule.
std::string describe(const Violation& violation);

}  // namespace rmq::trace
