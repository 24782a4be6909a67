// SPDX-License-Identifier: BSD-3-Clause
// A trace as text: one line an event, all fields of its packet.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "tools/trace/entry.hpp"

namespace rmq::trace {

/// What to show; unset: everything.
struct Filter {
  std::optional<int> peer, tag;
  std::string kind;  // of the packet, with or without RMQ_PKT_, or the name of an event
  bool shows(const Entry& e) const;
};

/// Processes of other jobs, which each rank has numbers of its own for, as "RANK@JOB".
class OtherJobs {
 public:
  /// To be called with all entries, in their order.
  void note(const Entry& e);
  /// Empty: the peer is one of the job, or not known.
  std::string_view name(const Entry& e) const;

 private:
  std::map<std::pair<int, int>, std::string> names_;  // by rank and its number for the other
};

/// Appends one line without a line feed.
void append_line(std::string& text, const Entry& e, const OtherJobs& others = {});
std::string line_of(const Entry& e, const OtherJobs& others = {});

}  // namespace rmq::trace
