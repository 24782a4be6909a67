// SPDX-License-Identifier: BSD-3-Clause
// What a device counts, from the first packet on; read at any time by its owner.
#pragma once

#include <cstdint>

namespace rmq::adi {

struct Counters {
  std::uint64_t sent = 0;               // packets
  std::uint64_t received = 0;           // packets
  std::uint64_t unexpected = 0;         // messages that had to be kept
  std::uint64_t unexpected_bytes = 0;   // memory they fill now, records included
  std::uint64_t unexpected_peak = 0;    // the most there has been
  std::uint64_t envelopes_granted = 0;  // beyond credit
  std::uint64_t pending = 0;            // packets that had to wait
  std::uint64_t protocol_errors = 0;    // packets that made no sense
  std::uint64_t sleeps = 0;
};

}  // namespace rmq::adi
