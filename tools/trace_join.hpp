// The two ends of each packet, brought together without clocks: what one rank noted as sent and the other as received.
#pragma once

#include <vector>

#include "tools/trace_file.hpp"

namespace rmq::trace {

/// One packet. A time is -1 where that end is not in the trace (lost from the ring, or not there yet).
struct Arrow {
  std::int64_t sent_ns = -1, received_ns = -1;
  int from = 0, to = 0;
  std::uint8_t method = 0;
  Packet packet;
};

/// All packets of the trace by time. Packets of a pair arrive in the order in which they left, so that the n-th
/// received is the n-th sent, fields compared. Where clocks disagree, no packet arrives before it has left.
std::vector<Arrow> join(const Trace& trace);

}  // namespace rmq::trace
