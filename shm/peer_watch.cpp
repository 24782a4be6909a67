#include "shm/peer_watch.hpp"

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

namespace rmq::shm {
namespace {

constexpr int kNone = -1;   // not watched yet
constexpr int kNever = -2;  // not to be asked about: forgotten, this process itself, or of another pid namespace

bool ended(int pidfd) {
  pollfd query{pidfd, POLLIN, 0};
  return ::poll(&query, 1, 0) > 0;
}

}  // namespace

PeerWatch::PeerWatch(const Directory& directory, Doorbell& doorbell)
    : directory_(directory),
      doorbell_(doorbell),
      fds_(directory.map().shape().ranks, kNone),
      namespace_(directory.mine().pid_namespace) {
  fds_[directory.me()] = kNever;
}

PeerWatch::~PeerWatch() {
  for (std::uint32_t rank = 0; rank < fds_.size(); ++rank) forget(rank);
}

void PeerWatch::wake_on_end(std::uint32_t rank) {
  if (fds_[rank] != kNone || watched_ == kMost) return;
  const RankControl& peer = directory_.control(rank);
  // Acquire pairs with announce_me: pid and namespace are there.
  if (peer.state.load(std::memory_order_acquire) == rank_state::absent) return;
  if (peer.pid_namespace != namespace_ || peer.pid == directory_.mine().pid) {
    fds_[rank] = kNever;
    return;
  }
  const int fd = static_cast<int>(::syscall(SYS_pidfd_open, peer.pid, 0));
  if (fd < 0) return;  // gone (is_dead finds out), out of descriptors, or an old kernel
  if (!doorbell_.watch(fd)) {
    ::close(fd);
    return;
  }
  fds_[rank] = fd;
  ++watched_;
}

bool PeerWatch::is_dead(std::uint32_t rank) {
  if (fds_[rank] == kNever) return false;
  const RankControl& peer = directory_.control(rank);
  // Acquire pairs with announce_me, and with close().
  if (peer.state.load(std::memory_order_acquire) == rank_state::absent) return false;
  if (peer.pid_namespace != namespace_ || peer.pid == directory_.mine().pid) {
    fds_[rank] = kNever;
    return false;
  }
  const bool gone = fds_[rank] >= 0 ? ended(fds_[rank]) : ::kill(peer.pid, 0) != 0 && errno == ESRCH;
  if (!gone) return false;
  // Looked at after the end was seen, the state is final.
  if (peer.state.load(std::memory_order_acquire) != rank_state::closed) return true;
  forget(rank);
  return false;
}

void PeerWatch::forget(std::uint32_t rank) {
  if (fds_[rank] >= 0) {
    doorbell_.unwatch(fds_[rank]);
    ::close(fds_[rank]);
    --watched_;
  }
  fds_[rank] = kNever;
}

}  // namespace rmq::shm
