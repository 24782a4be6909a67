// SPDX-License-Identifier: BSD-3-Clause
// What all windows of one device have counted.
#pragma once

#include <cstdint>

namespace rmq::rma {

/// Counted from the start; read at any time by the owner.
struct Counters {
  std::uint64_t packets = 0;           // operations by packets, sent from here; a list of puts is one
  std::uint64_t served = 0;            // operations of others, executed here; a list of puts is one
  std::uint64_t type_hits = 0;         // named datatypes found here
  std::uint64_t type_misses = 0;       // not found here: asked for again
  std::uint64_t type_definitions = 0;  // sent from here
  std::uint64_t type_bytes_saved = 0;  // of definitions that need not be sent again
  std::uint64_t locks_queued = 0;      // lock requests that had to wait here
  std::uint64_t protocol_errors = 0;   // peers that broke the protocol
  std::uint64_t stray_packets = 0;     // for, or from, windows that had ended
  std::uint64_t held_most = 0;         // bytes of one origin that had to wait here at the same time, most
};

}  // namespace rmq::rma
