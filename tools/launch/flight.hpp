// SPDX-License-Identifier: BSD-3-Clause
// The memory of the flight recorders of a job's local ranks: it belongs to the launcher, so it outlives them.
#pragma once

#include <string>

#include "tools/process/fd.hpp"
#include "tools/trace/view.hpp"

namespace rmq::launch {

class FlightMemory {
 public:
  /// With a slot for each of so many ranks. A file in memory without a name, sparse: it takes what the ranks write.
  /// Where the system gives none, jobs run without flight recorders.
  explicit FlightMemory(int slots);
  ~FlightMemory();
  FlightMemory(const FlightMemory&) = delete;
  FlightMemory& operator=(const FlightMemory&) = delete;

  /// The descriptor that a rank inherits, -1 without memory; and its RMQ_FLIGHT_MEMORY.
  int descriptor() const { return file_.get(); }
  std::string variable(int slot) const;

  /// The recorder in a slot; nothing when it has none.
  std::optional<trace::View> view(int slot) const;

  /// What to say about a rank that has come to a bad end: its last events (slot -1: it is not of this host), and the
  /// last few of each rank here that waited for it. Lines; empty when it had no recorder or nothing in it.
  std::string report_death(int slot, int rank) const;

 private:
  const int slots_;
  UniqueFd file_;
  const std::byte* memory_ = nullptr;
};

}  // namespace rmq::launch
