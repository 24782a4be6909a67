// SPDX-License-Identifier: BSD-3-Clause
// A piece of memory that the ranks of one host share: created by one, attached by the others, gone with the last of
// them.
//
// No kind leaves a name behind, not even after kill -9: a memfd has none, the POSIX kind is a nameless file of /dev/shm
// (O_TMPFILE, or unlinked at once), the SysV kind is marked for removal as soon as its creator has attached it, which
// Linux allows (shmctl(2): a segment marked for destruction can still be attached by its id while anybody has it).
//
// Memory that is mapped is not memory that exists: reserve() takes it from the system, so that a shortage is an error
// here and never a SIGBUS later.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.hpp"

namespace rmq::shm {

inline constexpr std::uint64_t kPage = 4096;

/// The next multiple of `to`.
constexpr std::uint64_t round_up(std::uint64_t bytes, std::uint64_t to) {
  return (bytes + to - 1) / to * to;
}

enum class SegmentKind : std::uint8_t { memfd, posix, sysv };

/// The value of RMQ_SHM_SEGMENT. Errc::config for any other word.
Result<SegmentKind> parse_segment_kind(std::string_view text);

class Segment {
 public:
  /// Makes and maps a segment of `bytes` bytes, all zero and none of them reserved. Errors name size, place and remedy.
  static Result<Segment> create(SegmentKind kind, std::uint64_t bytes);

  /// Maps the segment that another process (or this one) named by ticket(). Its creator must still have it.
  static Result<Segment> attach(std::string_view ticket);

  Segment() = default;
  Segment(Segment&& other) noexcept;
  Segment& operator=(Segment&& other) noexcept;
  ~Segment();

  /// What attach() needs; one line of text without secrets.
  std::string ticket() const;

  /// Takes [offset, offset + bytes) from the system, rounded to pages; what is reserved already stays as it is. Any
  /// rank. Errc::no_memory names what `purpose` says, the size, the place and the remedy.
  Result<void> reserve(std::uint64_t offset, std::uint64_t bytes, std::string_view purpose) const;

  /// Gives whole pages back to the system; their contents are lost. False where the kind does not allow it.
  bool release(std::uint64_t offset, std::uint64_t bytes) const;

  std::byte* data() const { return data_; }
  std::uint64_t bytes() const { return bytes_; }
  SegmentKind kind() const { return kind_; }

 private:
  Result<void> map();
  int take_pages(std::uint64_t begin, std::uint64_t bytes) const;

  SegmentKind kind_ = SegmentKind::memfd;
  int fd_ = -1;  // memfd, posix
  int id_ = -1;  // sysv
  std::byte* data_ = nullptr;
  std::uint64_t bytes_ = 0;
};

}  // namespace rmq::shm
