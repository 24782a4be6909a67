// SPDX-License-Identifier: BSD-3-Clause
// A trace folder, read as one stream of events: Reader -> Merge -> whoever looks at them. It may be larger than memory.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "tools/trace/clock.hpp"
#include "tools/trace/entry.hpp"
#include "tools/trace/file.hpp"

namespace rmq::trace {

/// What to read of a trace; unset: everything.
struct Slice {
  std::optional<int> rank;               // only this rank's file
  std::optional<double> from_us, to_us;  // time since the first event of the job
  bool whole() const { return !rank && !from_us && !to_us; }
};

class Reader {
 public:
  /// Opens every rank-*.rmqtrace of the folder. Errc::argument names the folder or file that is no trace.
  static Result<Reader> open(const std::string& folder);
  /// The same for files that are open already; at least one.
  static Result<Reader> over(std::vector<TraceFile> files);

  const std::vector<Recording>& ranks() const { return ranks_; }  // by rank
  const Clocks& clocks() const { return *clocks_; }
  /// The date of Entry::ns = 0, ns since 1970. Known once each() has shown an event.
  std::int64_t start_date() const { return clocks_->date(start_ns_); }

  /// Shows events in the order of their time until `look` is false. The whole trace: no packet arrives before it has
  /// left. A slice is read from an index where the clocks are exact(); its times are those of the clocks, and a packet
  /// that left long before it has no departure. The number of events shown; Errc::argument names a damaged file, after
  /// what could be read of it.
  Result<std::uint64_t> each(const Slice& slice, const std::function<bool(const Entry&)>& look);

  /// Called every few megabytes with the part that has been read, 0 to 1. Not called by default.
  std::function<void(double part, std::uint64_t bytes)> progress;

 private:
  Reader() = default;
  std::vector<TraceFile> files_;  // as ranks_
  std::vector<Recording> ranks_;
  std::optional<Clocks> clocks_;
  std::int64_t start_ns_ = 0;
};

/// A line for each thing that the reader of this trace should know: events that are missing, ranks that are, dates.
std::vector<std::string> caveats(const Reader& reader);

}  // namespace rmq::trace
