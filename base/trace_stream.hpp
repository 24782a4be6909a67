// The file of a full trace: a TraceHeader, the tail, then what was written before the tail.
//
//   TraceHeader | tail: kSegment records | records 0 … | … in whole segments
//
// The tail is mapped and takes the latest records; when it is full, it is appended to the file in one write and begins
// anew. Its pages are always the same, so that no record waits for a new one, and they belong to the kernel: what the
// header's `written` counts is in the file, whatever ends the process. Whether the tail has been appended already, the
// length of the file tells. A disk that is too slow makes the rank wait; where it is full, events are dropped and
// counted.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "base/error.hpp"
#include "base/trace.hpp"

namespace rmq {

class TraceStream {
 public:
  /// Records of the tail: 1.5 MiB, a whole number of pages.
  static constexpr std::uint64_t kSegment = 16384;
  static constexpr std::uint64_t kBodyAt = sizeof(TraceHeader) + kSegment * sizeof(TraceRecord);

  /// How many of `written` records stand behind the tail in a file of that length; the others are the tail's first.
  static std::uint64_t appended(std::uint64_t file_bytes, std::uint64_t written) {
    const std::uint64_t records = file_bytes > kBodyAt ? (file_bytes - kBodyAt) / sizeof(TraceRecord) : 0;
    return std::min(records / kSegment * kSegment, written);
  }

  TraceStream() = default;
  TraceStream(const TraceStream&) = delete;
  TraceStream& operator=(const TraceStream&) = delete;
  ~TraceStream() { close(); }

  /// Creates the file. `limit`: events at most; 0: no limit. Errc::system names file and remedy.
  Result<void> open(const std::string& path, const TraceOwner& owner, std::uint64_t limit);

  TraceHeader& header() { return *header_; }

  /// Where the next record goes; nullptr: it is dropped. It counts from publish() on.
  TraceRecord* reserve() {
    if (next_ == end_ && !begin_anew()) [[unlikely]]
      return nullptr;
    return next_;
  }
  void publish() {
    ++next_;
    // Release: a reader that sees the count sees the record. Relaxed load: only this thread writes.
    header_->written.store(header_->written.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  }

  /// Ends the recording, and says on stderr what it lacks.
  void close();

 private:
  bool begin_anew();
  void drop(int why);
  TraceRecord* tail() { return reinterpret_cast<TraceRecord*>(header_ + 1); }

  std::string path_;
  int fd_ = -1;
  std::uint64_t limit_ = 0;
  bool failed_ = false;
  std::uint64_t ahead_ = 0;  // blocks of the file are taken up to here
  TraceHeader* header_ = nullptr;
  TraceRecord* next_ = nullptr;
  TraceRecord* end_ = nullptr;
};

}  // namespace rmq
