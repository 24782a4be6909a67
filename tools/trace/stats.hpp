// A trace in figures: packets by kind and method, how messages were matched, what had to wait, how long a rendezvous took.
#pragma once

#include <string>

#include "tools/trace/file.hpp"

namespace rmq::trace {

/// The summary as a table of text, ending in a line feed.
std::string stats(const Trace& trace);

}  // namespace rmq::trace
