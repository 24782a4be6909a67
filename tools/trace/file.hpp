// The full traces of one job, read back: the files of a trace folder, their events on one clock. (The flight recorder:
// tools/trace/view.hpp.)
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/trace.hpp"

namespace rmq::trace {

/// One event of one rank. `ns` counts from the first event of the job.
struct Entry {
  std::int64_t ns = 0;
  int rank = 0;
  bool bare = false;  // from a flight recorder: the packet lacks the fields of its kind
  TraceRecord record{};

  /// The packet of an event that carries one.
  Packet packet() const;
};

/// One rank's file.
struct Recording {
  int rank = 0, size = 0;
  unsigned host = 0;
  std::string job;
  std::uint64_t written = 0;  // events that happened
  std::uint64_t dropped = 0;  // events of its end that could not be written
  bool finished = false;      // the rank came to its end (else it was killed, or is still running)
};

struct Trace {
  std::vector<Recording> ranks;  // by rank
  std::vector<Entry> entries;    // by time
  std::int64_t start_ns = 0;     // wall clock of the first event
};

/// Reads every rank-*.rmqtrace of the folder and merges them. Ranks of one host share the clock that was observed
/// longest, so their order is as exact as the CPU's counter; hosts are brought together by what they knew of the
/// launcher's clock at start and end, and then by causality (put_in_order() of join.hpp). Errc::argument names
/// the folder or file that is no trace.
Result<Trace> read(const std::string& folder);

}  // namespace rmq::trace
