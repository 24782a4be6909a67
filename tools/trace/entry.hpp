// SPDX-License-Identifier: BSD-3-Clause
// One event of one rank, as every reader of flight recorders and traces sees it.
#pragma once

#include <cstdint>
#include <cstring>

#include "base/record/trace.hpp"

namespace rmq::trace {

/// Whether a packet of this kind is the first of a message.
constexpr bool begins_message(Kind k) {
  return k == Kind::SHORT || k == Kind::SHORT_SYNC || k == Kind::REQUEST_SEND;
}

/// `ns` counts from the first event of the job (flight recorder: back from now).
struct Entry {
  std::int64_t ns = 0;
  int rank = 0;
  bool bare = false;       // from a flight recorder: the packet lacks the fields of its kind
  std::uint64_t flow = 0;  // numbers a packet, the same at both ends; 0: no packet, or one whose departure is not here
  std::int64_t sent_ns = 0;  // of a packet_received with a flow: when it left
  TraceRecord record{};

  /// The packet of an event that carries one.
  Packet packet() const {
    Packet p;
    std::memcpy(static_cast<void*>(&p), record.packet, sizeof p);
    return p;
  }
  bool sends() const { return record.event == Event::packet_sent; }
  bool receives() const { return record.event == Event::packet_received; }
  bool travels() const { return sends() || receives(); }
};

}  // namespace rmq::trace
