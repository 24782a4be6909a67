// A trace as text: one line an event, all fields of its packet.
#pragma once

#include <optional>
#include <string>

#include "tools/trace/entry.hpp"

namespace rmq::trace {

/// What to show; unset: everything.
struct Filter {
  std::optional<int> peer, tag;
  std::string kind;  // of the packet, with or without RMQ_PKT_, or the name of an event
  bool shows(const Entry& e) const;
};

/// Appends one line without a line feed.
void append_line(std::string& text, const Entry& e);
std::string line_of(const Entry& e);

}  // namespace rmq::trace
