// A trace for the Perfetto viewer (ui.perfetto.dev): TrackEvents in protobuf, tools/trace/perfetto.proto says which fields.
#pragma once

#include <string>

#include "tools/trace/file.hpp"

namespace rmq::trace {

/// The whole file: a process for each rank with a track for each method and one for its queues; each packet is an
/// instant where it was sent and one where it arrived, joined by a flow; sleeps are slices.
std::string perfetto(const Trace& trace);

}  // namespace rmq::trace
