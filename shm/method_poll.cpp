// SPDX-License-Identifier: BSD-3-Clause
// The rare half of ShmMethod's polling: rings beyond the busiest, arrivals, transfers, sleep, and peers that are gone.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/os/clock.hpp"
#include "shm/method.hpp"

namespace rmq::shm {
namespace {

constexpr std::uint64_t kLookEveryNs = 100'000'000;  // between looks at the peers' processes, while idle
constexpr std::uint64_t kLookSoonNs = 1'000'000;  // between looks after sleeps, which the end of a peer may have ended
constexpr int kStrangers = 16;                    // unconnected peers asked about in a thorough look
constexpr std::size_t kSweep = 64;                // rings beyond the hot ones that one poll looks at

}  // namespace

int ShmMethod::sweep() {
  int events = 0;
  for (std::size_t n = std::min(kSweep, inbound_.size() - kHot); n > 0; --n) {
    if (++turn_ >= inbound_.size()) turn_ = kHot;
    if (inbound_[turn_]->cells.ready()) events += drain(turn_);
  }
  return events;
}

int ShmMethod::attend() {
  int events = 0;
  if (!directory_) return 0;
  // Relaxed: looks; who takes them acquires.
  if (control_->rings.load(std::memory_order_relaxed) != 0) {
    take_rings();
    ++events;
  }
  if (mail_left_ || blocked_ != 0 || control_->mail.load(std::memory_order_relaxed) != 0) events += take_mail();
  events += transfers_->help();
  if (!transfers_->empty()) {
    std::optional<std::uint32_t> lost;
    events += transfers_->advance(lost);
    if (lost) lose(*lost, Errc::peer_lost, "has ended while long data was copied to or from it");
  }
  if (!ended_.empty()) events += lose_ended();
  events += report_losses();
  update_busy();
  return events;
}

void ShmMethod::update_busy() {
  busy_ = has_duties() || blocked_ != 0;
}

void ShmMethod::lose_all() {
  for (std::uint32_t rank = 0; rank < peers_.size(); ++rank) {
    if (rank != directory_->me())
      lose(rank, Errc::protocol, "or another rank of the host has damaged the shared segment");
  }
}

void ShmMethod::lose(std::uint32_t host_rank, Errc code, const std::string& why) {
  const Rank rank = peers_[host_rank].rank;
  drop(rank,
       {code, fmt::format("rank {} (process {} on this host) {}", rank, directory_->control(host_rank).pid, why)});
}

void ShmMethod::lose_given_up(std::uint32_t host_rank) {
  lose(host_rank, Errc::peer_lost, "has given up its link to this one; it says why");
}

void ShmMethod::cannot_reach(std::uint32_t host_rank, const Error& why) {
  const Rank rank = peers_[host_rank].rank;
  drop(rank, {why.code, fmt::format("rank {} cannot send to rank {}: {}", job_.rank, rank, why.what)});
}

// A process that lives on learns it from its ring, or from its inbox.
void ShmMethod::drop(Rank rank, const Error& why) {
  const std::uint32_t host_rank = host_rank_of(rank);
  Peer& peer = peers_[host_rank];
  if (peer.lost) return;
  peer.lost = true;
  if (peer.out) {
    peer.out->ring.header->given_up.store(1, std::memory_order_release);  // behind all packets: see look_after_peers
    ring_if_asleep(*peer.out->sleeping, rank);
  } else {
    untold_.push_back(host_rank);
    tell_of_end();
  }
  outbound_[static_cast<std::size_t>(rank)] = &nowhere_;
  losses_.push_back({host_rank, why});
  busy_ = true;
}

int ShmMethod::report_losses() {
  int events = 0;
  while (!losses_.empty()) {
    const Loss loss = std::move(losses_.back());
    losses_.pop_back();
    Peer& peer = peers_[loss.peer];
    std::erase(inbound_, peer.in.get());
    watch_->forget(loss.peer);
    trace_.event(Event::link_down, static_cast<std::uint8_t>(id()), peer.rank);
    transfers_->drop(loss.peer);
    sink_.on_peer_lost(sink_.device, peer.rank, loss.error);
    ++events;
  }
  return events;
}

void ShmMethod::look_after_peers() {
  idle_polls_ = 0;
  if (!directory_) return;
  const std::uint64_t now = os::now_ns();
  const bool thorough = now - last_look_ns_ >= kLookEveryNs;
  if (!thorough && (!look_soon_ || now - last_look_ns_ < kLookSoonNs)) return;
  last_look_ns_ = now;
  look_soon_ = false;
  look_after_inbox();
  tell_of_end();
  for (const Inbound* in : inbound_) {
    if (in->given_up() && !in->cells.ready()) lose_given_up(in->host_rank);
  }
  std::uint32_t dead = watch_->find_dead();
  if (thorough) {
    watch_met();
    for (const Inbound* in : inbound_) {
      if (!in->cells.sane())
        lose(in->host_rank, Errc::protocol, "or another rank has damaged a ring in the shared segment");
    }
    if (dead == PeerWatch::kNobody) dead = watch_->find_dead_stranger(kStrangers);
  }
  if (dead == PeerWatch::kNobody) return;
  look_soon_ = true;
  if (is_exhausted(dead)) lose(dead, Errc::peer_lost, "has ended without finishing the job");
}

// All that it has published is visible now: its packets lie before the inbox's tail, and its ring begins before that.
bool ShmMethod::is_exhausted(std::uint32_t host_rank) {
  Peer& peer = peers_[host_rank];
  take_rings();
  if (!peer.mail_ends) peer.mail_ends = inbox_.tail();
  return inbox_.position() >= *peer.mail_ends && (!peer.in || !peer.in->cells.ready());
}

void ShmMethod::ended(Rank rank, const Error& why) {
  const std::uint32_t host_rank = host_rank_of(rank);
  if (peers_[host_rank].lost) return;
  ended_.push_back({host_rank, why});
  busy_ = true;
}

int ShmMethod::lose_ended() {
  look_after_inbox();  // it may have died with a cell half filled
  return static_cast<int>(std::erase_if(ended_, [&](const Loss& loss) {
    const bool over = peers_[loss.peer].lost || is_exhausted(loss.peer);
    if (over) drop(peers_[loss.peer].rank, loss.error);
    return over;
  }));
}

void ShmMethod::watch_met() {
  std::erase_if(unwatched_, [&](std::uint32_t rank) {
    watch_->watch(rank);
    // A rank that has not come yet is tried again.
    return directory_->control(rank).state.load(std::memory_order_acquire) != rank_state::absent;
  });
}

bool ShmMethod::has_work() {
  // A packet that is half in the inbox is none yet: who ends it says so, and rings.
  if (called() || has_duties()) return true;
  for (const Inbound* in : inbound_) {
    if (in->cells.ready() || in->given_up()) return true;
  }
  for (std::size_t i = 0; i < starved_.size(); ++i) {
    const Peer& peer = peers_[starved_[i]];
    if (!peer.lost && !(peer.out ? peer.out->may_refresh() : directory_->inbox(starved_[i]).has_room())) continue;
    starved_.clear();  // the device tries all of them again, and who is refused again is noted again
    return true;
  }
  return false;
}

bool ShmMethod::arm() {
  if (!directory_) return true;
  if (!directory_->may_sleep()) return false;
  watch_met();
  // Announce, fence, look: with the light fence of send() and drain(), either the peer sees the announcement and rings,
  // or this look sees what it has published. Relaxed: the fence orders.
  control_->sleeping.store(1, std::memory_order_relaxed);
  for (const std::uint32_t rank : starved_) {
    if (!peers_[rank].out) directory_->inbox(rank).header->wanted.store(1, std::memory_order_release);
  }
  os::heavy_fence(asymmetric_);
  return !has_work();
}

void ShmMethod::disarm() {
  if (!directory_) return;
  control_->sleeping.store(0, std::memory_order_relaxed);  // relaxed: a ring too many does no harm
  look_soon_ = true;                                       // perhaps the end of a process has woken us
  idle_polls_ = kIdlePolls;
}

}  // namespace rmq::shm
