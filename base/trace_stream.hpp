// The file of a full trace: a TraceHeader, then records, in a mapping that grows by segments.
//
// Space on the disk is reserved before a segment is mapped, so that a full disk is seen there and not as SIGBUS; from
// then on events are dropped and counted. A disk that is too slow makes the rank wait, it loses nothing. What the
// header's `written` counts is in the file, whatever ends the process: the pages belong to the kernel.
#pragma once

#include <cstdint>
#include <string>

#include "base/error.hpp"
#include "base/trace.hpp"

namespace rmq {

class TraceStream {
 public:
  /// Records in a segment: 1.5 MiB, a whole number of pages.
  static constexpr std::uint64_t kSegment = 16384;

  TraceStream() = default;
  TraceStream(const TraceStream&) = delete;
  TraceStream& operator=(const TraceStream&) = delete;
  ~TraceStream();

  /// Creates the file, with the first segment. `limit`: events at most; 0: no limit. Errc::system names file and
  /// remedy.
  Result<void> open(const std::string& path, const TraceOwner& owner, std::uint64_t limit);

  TraceHeader& header() { return *header_; }

  /// Where the next record goes; nullptr: it is dropped. It counts from publish() on.
  TraceRecord* reserve() {
    if (next_ == end_) [[unlikely]] {
      if (!grow()) return nullptr;
    }
    return next_;
  }
  void publish() {
    ++next_;
    // Release: a reader that sees the count sees the record. Relaxed load: only this thread writes.
    header_->written.store(header_->written.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  }

  /// Cuts the file to what was written. Nothing may be recorded afterwards.
  void close();

 private:
  bool grow();
  bool reserve_space(std::uint64_t offset);
  void drop(int why);
  void unmap();

  std::string path_;
  int fd_ = -1;
  std::uint64_t limit_ = 0;
  bool failed_ = false;
  TraceHeader* header_ = nullptr;
  TraceRecord* segment_ = nullptr;
  TraceRecord* next_ = nullptr;
  TraceRecord* end_ = nullptr;
};

}  // namespace rmq
