// SPDX-License-Identifier: BSD-3-Clause
#include "shm/peer_watch.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/os/process.hpp"

namespace rmq::shm {

using os::has_ended;

PeerWatch::PeerWatch(const Directory& directory, Doorbell& doorbell)
    : directory_(directory), doorbell_(doorbell), ranks_(directory.map().shape().ranks, Rank::stranger) {
  ranks_[directory.me()] = Rank::forgotten;
}

PeerWatch::~PeerWatch() {
  while (!owners_.empty()) forget(owners_.back());
}

const RankControl* PeerWatch::process_of(std::uint32_t rank) {
  const RankControl& peer = directory_.control(rank);
  // Acquire pairs with announce_me: pid and namespace are there.
  if (peer.state.load(std::memory_order_acquire) == rank_state::absent) return nullptr;
  const RankControl& mine = directory_.mine();
  if (peer.pid_namespace == mine.pid_namespace && peer.pid != mine.pid) return &peer;
  ranks_[rank] = Rank::forgotten;
  return nullptr;
}

void PeerWatch::watch(std::uint32_t rank) {
  if (ranks_[rank] != Rank::stranger || fds_.size() == kMost) return;
  const RankControl* peer = process_of(rank);
  if (peer == nullptr) return;
  const int fd = static_cast<int>(::syscall(SYS_pidfd_open, peer->pid, 0));
  if (fd < 0) return;  // gone (find_dead_stranger sees it), out of descriptors, or an old kernel
  if (!doorbell_.watch(fd)) {
    ::close(fd);
    return;
  }
  ranks_[rank] = Rank::watched;
  fds_.push_back({fd, POLLIN, 0});
  owners_.push_back(rank);
}

std::uint32_t PeerWatch::find_dead() {
  if (fds_.empty() || ::poll(fds_.data(), fds_.size(), 0) <= 0) return kNobody;
  for (std::size_t i = 0; i < fds_.size(); ++i) {
    if (fds_[i].revents != 0 && !left_in_order(owners_[i])) return owners_[i];
  }
  return kNobody;
}

std::uint32_t PeerWatch::find_dead_stranger(int count) {
  for (std::size_t looked = 0; looked < ranks_.size() && count > 0; ++looked) {
    turn_ = turn_ + 1 < ranks_.size() ? turn_ + 1 : 0;
    if (ranks_[turn_] != Rank::stranger) continue;
    const RankControl* peer = process_of(turn_);
    if (peer == nullptr) continue;
    --count;
    if (has_ended(peer->pid) && !left_in_order(turn_)) return turn_;
  }
  return kNobody;
}

bool PeerWatch::is_gone(std::uint32_t rank) const {
  const RankControl& peer = directory_.control(rank);
  const RankControl& mine = directory_.mine();
  // Acquire pairs with announce_me: pid and namespace are there.
  if (peer.state.load(std::memory_order_acquire) == rank_state::absent) return false;
  return peer.pid_namespace == mine.pid_namespace && has_ended(peer.pid);
}

bool PeerWatch::left_in_order(std::uint32_t rank) {
  // The process has ended, so the state is final. Acquire pairs with close().
  if (directory_.control(rank).state.load(std::memory_order_acquire) != rank_state::closed) return false;
  forget(rank);
  return true;
}

void PeerWatch::forget(std::uint32_t rank) {
  ranks_[rank] = Rank::forgotten;
  const auto owner = std::find(owners_.begin(), owners_.end(), rank);
  if (owner == owners_.end()) return;
  const auto fd = fds_.begin() + (owner - owners_.begin());
  doorbell_.unwatch(fd->fd);
  ::close(fd->fd);
  fds_.erase(fd);
  owners_.erase(owner);
}

}  // namespace rmq::shm
