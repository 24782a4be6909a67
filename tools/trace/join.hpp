// The two ends of each packet, brought together without clocks: what one rank noted as sent and the other as received.
// And what follows from that for the clocks.
#pragma once

#include <cstddef>
#include <vector>

#include "tools/trace/file.hpp"

namespace rmq::trace {

/// One packet. A time is -1, an entry kNone, where that end is not in the trace (dropped, or not there yet).
struct Arrow {
  static constexpr std::size_t kNone = ~std::size_t{0};
  std::int64_t sent_ns = -1, received_ns = -1;
  int from = 0, to = 0;
  std::uint8_t method = 0;
  Packet packet;
  std::size_t sent = kNone, received = kNone;  // in Trace::entries
};

/// All packets of the trace by time. Packets of a pair arrive in the order in which they left, over any method, so that
/// the n-th received is the n-th sent, message number and fields compared. Needs entries in which each rank's own are
/// in order.
std::vector<Arrow> join(const Trace& trace);

/// Sorts the entries by time. Where clocks of hosts disagree so much that a packet would arrive before it has left, its
/// arrival, and what the receiver did afterwards, is put later. Needs what join() needs.
void put_in_order(Trace& trace);

}  // namespace rmq::trace
