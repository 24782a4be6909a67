// SPDX-License-Identifier: BSD-3-Clause
// How much memory the system still gives without ending a process for it. Pages that are reserved (fallocate) are taken
// from whoever has some: a system that has none left ends processes, perhaps other people's, and says nothing to who
// asked.
#pragma once

#include <cstdint>
#include <string>

namespace rmq::os {

/// Bytes that may be taken now: what the machine has available, with its swap, or less where a cgroup of this process
/// allows less; without a part of the whole that stays for others. `root`: of the file system, for tests.
std::uint64_t memory_left(const std::string& root = "");

/// Whether so many bytes may be taken. Cheap where little is asked for: the system is asked again once a small part of
/// what it last said has been taken. Any thread.
bool has_room(std::uint64_t bytes);

/// take(from, bytes) for all of a range, piece by piece, as long as there is room: others may be taking memory as well.
/// False when there is not, or take() says so; then some of it may have been taken.
template <class Take>
bool take_with_room(std::uint64_t from, std::uint64_t bytes, Take&& take) {
  constexpr std::uint64_t kPiece = 32 * 1024 * 1024;
  if (!has_room(bytes)) return false;
  while (bytes > kPiece) {
    if (!has_room(kPiece) || !take(from, kPiece)) return false;
    from += kPiece;
    bytes -= kPiece;
  }
  return take(from, bytes);
}

}  // namespace rmq::os
