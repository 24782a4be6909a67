// SPDX-License-Identifier: BSD-3-Clause
// One rank's file of a trace folder, and the way through its events.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/record/trace.hpp"

namespace rmq::trace {

/// Who recorded a file, and what of it is there.
struct Recording {
  int rank = 0, size = 0;
  unsigned host = 0;
  std::string job;
  std::uint64_t bytes = 0;    // of records
  std::uint64_t dropped = 0;  // events of its end that could not be written
  int dropped_why = 0;        // errno; 0: RMQ_TRACE_MAX
  bool finished = false;      // the rank came to its end (else it was killed, or is still running)
};

class TraceFile {
 public:
  /// Errc::argument when it is no trace of this version, or ends early.
  static Result<TraceFile> open(const std::string& path);
  TraceFile(TraceFile&& other) noexcept;
  TraceFile& operator=(TraceFile&& other) noexcept;
  ~TraceFile();

  const std::string& path() const { return path_; }
  const TraceHeader& header() const { return *header_; }
  Recording recording() const;
  /// What it holds, in units of kTraceUnit.
  std::uint64_t units() const { return units_; }

  /// When the first event happened; nothing when there is none.
  std::optional<std::uint64_t> first_ticks() const;

  /// Reads the units [first, first + count), which must be there; false: the disk fails, or somebody shortens the file.
  bool read(std::uint64_t first, std::uint64_t count, std::byte* to) const;

 private:
  TraceFile() = default;
  bool read_at(std::uint64_t at, std::uint64_t bytes, std::byte* to) const;

  std::string path_;
  int fd_ = -1;
  std::unique_ptr<TraceHeader> header_;  // as it was when the file was opened
  std::uint64_t units_ = 0, appended_ = 0;
};

/// Walks through the events of a file with a buffer of fixed size.
class Cursor {
 public:
  /// `file` must outlive it; `buffer`: bytes, whole units, three at least; a short file takes less.
  Cursor(const TraceFile& file, std::size_t buffer);

  enum class Step { event, end, damaged };
  /// The next event into `out`, what it does not have of a packet set to zero.
  Step next(TraceRecord& out);

  /// Goes to a place such that all events still come of which `early` is not true (as it is of the first ones and then
  /// no more, by their ticks). Reads one record of some ten segments: each begins with a record, so that the file is
  /// its own index.
  void seek(const std::function<bool(std::uint64_t ticks)>& early);
  /// Units gone through, and the events among them.
  std::uint64_t at() const { return at_; }
  std::uint64_t events() const { return events_; }

 private:
  bool fill();

  const TraceFile* file_;
  std::vector<std::byte> buffer_;
  std::uint64_t at_ = 0, begin_ = 0, end_ = 0;  // next unit; those in the buffer
  std::uint64_t events_ = 0;
};

}  // namespace rmq::trace
