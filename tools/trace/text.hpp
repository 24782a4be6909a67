// A trace as text: one line an event, all fields of its packet.
#pragma once

#include <optional>
#include <string>

#include "tools/trace/file.hpp"

namespace rmq::trace {

/// What to show; unset: everything.
struct Filter {
  std::optional<int> rank, peer, tag;
  std::string kind;                            // of the packet, with or without RMQ_PKT_, or the name of an event
  std::optional<double> from_us, to_us;        // time since the first event
  bool shows(const Entry& e) const;
};

/// One line without a line feed.
std::string line_of(const Entry& e);

}  // namespace rmq::trace
