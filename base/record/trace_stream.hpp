// SPDX-License-Identifier: BSD-3-Clause
// The file of a full trace: a TraceHeader, the tail, then what was written before the tail.
//
//   TraceHeader | tail: kSegment units | records from the first on | … in whole segments
//
// A record takes one to three units (trace_units()) and never crosses the end of a segment: what is left there holds a
// record without an event.
//
// The tail is mapped and takes the latest records; when it is full, it is appended to the file in one write and begins
// anew. Its pages are always the same, so that no record waits for a new one, and they belong to the kernel: what the
// header's `written` counts is in the file, whatever ends the process. Whether the tail has been appended already, the
// length of the file tells. A disk that is too slow makes the rank wait; where it is full, or the file as long as it
// may be, events are dropped and counted.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "base/error.hpp"
#include "base/record/trace.hpp"

namespace rmq {

class TraceStream {
 public:
  /// Units of the tail, a whole number of pages that fits a second-level cache.
  static constexpr std::uint64_t kSegment = 256 * 1024 / kTraceUnit;
  static constexpr std::uint64_t kBodyAt = sizeof(TraceHeader) + kSegment * kTraceUnit;

  /// How many of `written` units stand behind the tail in a file of that length; the others are the tail's first.
  static std::uint64_t appended(std::uint64_t file_bytes, std::uint64_t written) {
    const std::uint64_t units = file_bytes > kBodyAt ? (file_bytes - kBodyAt) / kTraceUnit : 0;
    return std::min(units / kSegment * kSegment, written);
  }

  TraceStream() = default;
  TraceStream(const TraceStream&) = delete;
  TraceStream& operator=(const TraceStream&) = delete;
  ~TraceStream() { close(); }

  /// Creates the file, which does not grow beyond `max_bytes` (0: no limit; kBodyAt it always has): the events that
  /// come later are dropped and counted. Errc::system names file and remedy.
  Result<void> open(const std::string& path, const TraceOwner& owner, std::uint64_t max_bytes);

  TraceHeader& header() { return *header_; }

  /// Where the next record goes, room for the longest; nullptr: it is dropped. It counts from publish() on.
  TraceRecord* reserve() {
    if (room_ < kMostTraceUnits && !begin_anew()) [[unlikely]]
      return nullptr;
    return reinterpret_cast<TraceRecord*>(tail() + (kSegment - room_) * kTraceUnit);
  }
  void publish(std::uint64_t units) {
    room_ -= units;
    // Release: a reader that sees the count sees the record. Relaxed load: only this thread writes.
    header_->written.store(header_->written.load(std::memory_order_relaxed) + units, std::memory_order_release);
  }

  /// Ends the recording, and says on stderr what it lacks.
  void close();

 private:
  bool begin_anew();
  void drop(int why);
  std::byte* tail() { return reinterpret_cast<std::byte*>(header_ + 1); }

  std::string path_;
  int fd_ = -1;
  std::uint64_t max_bytes_ = 0;  // of the file; 0: no limit
  bool failed_ = false;
  std::uint64_t ahead_ = 0;  // blocks of the file are taken up to here
  TraceHeader* header_ = nullptr;
  std::uint64_t room_ = kSegment;  // units of the tail that are free
};

}  // namespace rmq
