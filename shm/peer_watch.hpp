// Notices that a peer's process has ended without good-bye. Asks the kernel only when the rank is idle; while it
// sleeps, the ends of connected processes ring its doorbell.
#pragma once

#include <cstdint>
#include <vector>

#include "base/doorbell.hpp"
#include "shm/directory.hpp"

namespace rmq::shm {

class PeerWatch {
 public:
  PeerWatch(const Directory& directory, Doorbell& doorbell);
  ~PeerWatch();
  PeerWatch(const PeerWatch&) = delete;
  PeerWatch& operator=(const PeerWatch&) = delete;

  /// From now on the end of this rank's process wakes the doorbell. Cheap when repeated. At most kMost processes are
  /// watched so; others are found by is_dead().
  void wake_on_end(std::uint32_t rank);

  /// Whether the rank was here and its process has ended without close(). One or two system calls.
  bool is_dead(std::uint32_t rank);

  /// Forgets the rank: it is lost, or has left in order.
  void forget(std::uint32_t rank);

  static constexpr std::size_t kMost = 64;

 private:
  const Directory& directory_;
  Doorbell& doorbell_;
  std::vector<int> fds_;  // by host rank: pidfd, kNone or kNever
  std::size_t watched_ = 0;
  std::uint64_t namespace_ = 0;
};

}  // namespace rmq::shm
