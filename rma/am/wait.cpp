// SPDX-License-Identifier: BSD-3-Clause
// What waits: for a peer to have handled requests, for messages of any, for the end of those that have died.
#include <utility>

#include "rma/am/active_messages.hpp"

namespace rmq::rma {

/// What a call waits for, for reports.
struct ActiveMessages::Waited {
  Rank peer;  // that is to handle requests; kNoRank: for a message of any
  static void tell(const void* object, ReportText& to) {
    const auto& w = *static_cast<const Waited*>(object);
    to.begin_object();
    to.field("kind", w.peer == kNoRank ? "any_message" : "handler");
    if (w.peer != kNoRank) to.field("peer", w.peer);
    to.end_object();
  }
};

// Until the member has told that so many requests have been handled. False: it is lost.
bool ActiveMessages::wait_for_peer(int member, std::uint64_t handled) {
  const Peer& peer = peers_[member];
  const Waited waited{world(member)};
  while (peer.handled < handled) {
    if (is_lost(member)) return false;
    device().MPID_Poll(true, {Waited::tell, &waited});
  }
  return true;
}

void ActiveMessages::ask(int member) {
  Peer& peer = peers_[member];
  if (peer.handled == peer.sent || peer.asked == peer.sent || is_lost(member)) return;
  peer.asked = peer.sent;
  Packet p = packet(Kind::AM_FLUSH);
  device().send_packet(world(member), p, {}, nullptr);
}

ActiveMessages::Sent ActiveMessages::flush(int to) {
  if (to == me()) return Sent::done;
  ask(to);
  return wait_for_peer(to, peers_[to].sent) ? Sent::done : Sent::lost;
}

ActiveMessages::Sent ActiveMessages::flush_all() {
  std::vector<std::pair<int, std::uint64_t>> all;
  for (int member = 0; member < size(); ++member) {
    if (peers_[member].handled == peers_[member].sent) continue;
    ask(member);
    all.emplace_back(member, peers_[member].sent);
  }
  Sent sent = Sent::done;
  for (const auto& [member, number] : all) {
    if (!wait_for_peer(member, number)) sent = Sent::lost;
  }
  return sent;
}

ActiveMessages::Sent ActiveMessages::wait(std::uint64_t seen) {
  const Waited waited{kNoRank};
  for (;;) {
    if (counters_.handled > seen) return Sent::done;
    // What the others have sent comes first.
    const bool lost = is_any_lost();
    device().MPID_Poll(!lost, {Waited::tell, &waited});
    if (lost && counters_.handled <= seen) return Sent::lost;
  }
}

bool ActiveMessages::is_any_lost() const {
  if (!device().any_lost()) return false;
  for (int member = 0; member < size(); ++member)
    if (is_lost(member)) return true;
  return false;
}

void ActiveMessages::hear_of_deaths() {
  for (int member = 0; member < size(); ++member) {
    const Rank rank = world(member);
    const Waited waited{rank};
    while (device().is_dead(device().process_of(rank)) && device().has_met(rank) && !is_lost(member))
      device().MPID_Poll(true, {Waited::tell, &waited});
  }
}

}  // namespace rmq::rma
