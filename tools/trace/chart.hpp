// A trace as a picture: one HTML file that needs nothing else, with a lane for each rank and an arrow for each packet.
#pragma once

#include <string>

#include "tools/trace/file.hpp"

namespace rmq::trace {

/// The whole HTML document.
std::string chart(const Trace& trace);

}  // namespace rmq::trace
