// SPDX-License-Identifier: BSD-3-Clause
// Notices that a peer's process has ended without good-bye. The ends of connected processes ring the doorbell of a rank
// that sleeps; a rank that polls asks the kernel now and then. What it costs does not grow with the ranks of the host.
#pragma once

#include <poll.h>

#include <cstdint>
#include <vector>

#include "base/os/doorbell.hpp"
#include "shm/directory.hpp"

namespace rmq::shm {

class PeerWatch {
 public:
  PeerWatch(const Directory& directory, Doorbell& doorbell);
  ~PeerWatch();
  PeerWatch(const PeerWatch&) = delete;
  PeerWatch& operator=(const PeerWatch&) = delete;

  /// From now on the end of this rank's process is noticed at once. At most kMost processes; repeat later for a rank
  /// that has not come yet. Cheap when repeated.
  void watch(std::uint32_t rank);

  /// A rank whose watched process has ended without close(), or kNobody. One system call, whatever the number.
  std::uint32_t find_dead();

  /// The same for `count` of the ranks that are not watched, another few with each call. A few system calls for each.
  std::uint32_t find_dead_stranger(int count);

  /// Whether the rank's process has ended. A few system calls.
  bool is_gone(std::uint32_t rank) const;

  /// Never reports this rank (again).
  void forget(std::uint32_t rank);

  static constexpr std::uint32_t kNobody = UINT32_MAX;
  static constexpr std::size_t kMost = 64;

 private:
  enum class Rank : std::uint8_t { stranger, watched, forgotten };

  /// The control line of a rank that is here, in this pid namespace and in another process; nullptr else.
  const RankControl* process_of(std::uint32_t rank);
  /// Called after the end of its process was seen.
  bool left_in_order(std::uint32_t rank);

  const Directory& directory_;
  Doorbell& doorbell_;
  std::vector<Rank> ranks_;            // by host rank
  std::vector<pollfd> fds_;            // the watched ones' pidfds …
  std::vector<std::uint32_t> owners_;  // … and their ranks
  std::uint32_t turn_ = 0;             // of find_dead_stranger
};

}  // namespace rmq::shm
