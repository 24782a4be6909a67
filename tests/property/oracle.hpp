// SPDX-License-Identifier: BSD-3-Clause
// What MPI allows, judged after the fact: the history of a program's sends, receives and probes, and a check that it is
// one that MPI's matching rules permit. Independent of the device: plain vectors, linear search.
//
// Delivery between different senders may come in any order, so the oracle predicts nothing. It demands that
//   - every receive got the bytes, source, tag and size of a message that was really sent and fits its pattern,
//   - no message is lost, received twice, or received although its cancel succeeded,
//   - messages of one sender do not overtake each other where a receive fits both, and receives are served in the order
//     in which they were posted,
//   - a receive that waits gets a message that fits, however many others lie in between,
//   - a synchronous send completes only after its receive has started,
//   - a probe tells of the earliest message of its sender that fits and is still there.
// Times are steps of the driver; an event's time is exact or, for completion, the first step at which it was seen.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "base/packet/request.hpp"

namespace rmq::testing {

using Step = std::uint64_t;
inline constexpr Step kNever = std::numeric_limits<Step>::max();

struct SentMessage {
  std::uint64_t id = 0;  // decides the bytes (message_bytes)
  int from = 0, to = 0;
  std::uint32_t context = 0;
  int tag = 0;
  std::size_t bytes = 0;
  bool synchronous = false;
  bool cancelled = false;
  bool fate_unknown = false;  // by a death: whether it was cancelled, or taken by a receive that did not end well
  Step started = 0;
  Step completed = kNever;
  std::ptrdiff_t receive = -1;  // filled in by check(): index of the receive that got it
};

struct Receive {
  int at = 0;
  Match pattern;
  std::size_t capacity = 0;
  Step posted = 0;          // for a matched probe: when the probe took the message
  Step completed = kNever;  // or cancelled
  bool cancelled = false;
  bool at_rest = false;     // cancelled when the whole world had come to rest: nothing there may have fitted it
  bool lost_peer = false;   // ended by the loss of its sender
  bool guards_held = true;  // nothing was written outside what was received
  Status status;
  std::vector<std::byte> data;
  std::ptrdiff_t message = -1;  // filled in by check()
};

struct ProbeHit {
  int at = 0;
  Match pattern;
  Step when = 0;
  int source = 0, tag = 0;
  std::size_t bytes = 0;
};

struct History {
  std::vector<SentMessage> messages;  // in order of starting
  std::vector<Receive> receives;      // any order
  std::vector<ProbeHit> probes;
  std::vector<int> dead;  // ranks that were killed: their messages may be lost
};

/// Empty when the history is legal; else one line for each violation (the first few).
std::vector<std::string> check(History& history);

}  // namespace rmq::testing
