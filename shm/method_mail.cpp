// SPDX-License-Identifier: BSD-3-Clause
// Packets by inbox: to and from ranks that this one has no ring with; and rings that are new.
#include <cstring>
#include <vector>

#include "base/os/clock.hpp"
#include "shm/method.hpp"

namespace rmq::shm {

using methods::Outcome;

namespace {

// A pair that talks earns a ring, which costs a page or two of memory, as much in page tables again, and some system
// calls, where a packet by inbox takes about 0.1 us longer: of this many packets in a row that went to inboxes …
constexpr std::uint32_t kSeason = 1024;
// … so many were for that peer. Who exchanges a word with a thousand ranks in turn goes on without rings.
constexpr std::uint8_t kBusy = 16;
constexpr int kMailBatch = 256;                // packets taken from the inbox before the rings are looked at again
constexpr std::uint32_t kBlockedToLook = 256;  // polls in a row that find a cell half filled

}  // namespace

bool ShmMethod::goes_by_mail(Peer& peer, const Packet& packet) {
  if (directory_->map().shape().has_rings != 0) return false;
  if (packet.length > inline_room(packet.kind)) return false;
  if (peer.no_ring_until_ns != 0 && os::now_ns() < peer.no_ring_until_ns) return true;
  if (peer.claimed) return false;
  const std::uint32_t season = mailed_ / kSeason;
  if (peer.season != season) peer.season = season, peer.mails = 0;
  return peer.mails < kBusy;
}

Outcome ShmMethod::mail(std::uint32_t host_rank, const Packet& packet, const Payload& payload) {
  meet(host_rank);
  const Inbox::Put put = directory_->inbox(host_rank).put(directory_->me(), [&](Cell& cell) {
    const std::size_t fields = body_bytes(packet.kind);
    const auto sender = static_cast<std::uint16_t>(directory_->me());
    auto* const to = reinterpret_cast<std::byte*>(&cell);
    Outbound::copy_fields(cell, packet, fields);
    std::memcpy(to + offsetof(Packet, spare), &sender, sizeof sender);
    pack(to + kHeaderBytes + fields, payload.view, payload.offset, packet.length);
  });
  if (put == Inbox::Put::full) return Outcome::retry;
  if (put == Inbox::Put::damaged) {
    lose(host_rank, Errc::protocol, "or another rank has damaged its inbox in the shared segment");
    return Outcome::failed;
  }
  Peer& peer = peers_[host_rank];
  if (peer.mails < kBusy) ++peer.mails;
  ++mailed_;
  RankControl& theirs = directory_->control(host_rank);
  theirs.mail.exchange(1, std::memory_order_release);  // acquired by take_mail
  ring_if_asleep(theirs.sleeping, peer.rank);
  return Outcome::done;
}

// Who waits for messages of this rank hears that there will be none: at once, or when its inbox has room.
void ShmMethod::tell_of_end() {
  std::erase_if(untold_, [&](std::uint32_t rank) {
    return directory_->inbox(rank).has_room() && mail(rank, Packet(Kind::none), {}) == Outcome::done;
  });
}

int ShmMethod::take_mail() {
  // First the word, then the cells: who publishes behind this look says so again.
  control_->mail.exchange(0, std::memory_order_acquire);
  int taken = 0;
  for (; inbox_.ready() && taken < kMailBatch; ++taken) {
    Packet packet;
    std::memcpy(static_cast<void*>(&packet), &inbox_.cell(), sizeof packet);
    inbox_.advance();
    if (inbox_.return_is_due()) return_mail();
    take(packet);
  }
  mail_left_ = taken == kMailBatch;
  begin_rings();
  // A sender is in the middle of a packet, most often for some nanoseconds.
  const bool blocked = !inbox_.ready() && inbox_.claimant() != InboxReader::kNobody;
  if (!blocked) {
    blocked_ = 0;
  } else if (++blocked_ % kBlockedToLook == 0) {
    look_after_inbox();
  }
  return taken;
}

void ShmMethod::take(Packet& packet) {
  const std::uint32_t from = std::exchange(packet.spare, std::uint16_t{0});
  if (from >= peers_.size() || from == directory_->me()) return lose_all();
  Peer& peer = peers_[from];
  if (peer.lost) return;
  if (packet.length > inline_room(packet.kind))
    return lose(from, Errc::protocol, "sent a packet whose length is impossible");
  meet(from);
  const std::byte* const payload = packet.body + body_bytes(packet.kind);
  if (packet.kind == Kind::none) return lose_given_up(from);
  sink_.on_packet[static_cast<std::uint8_t>(packet.kind)](sink_.device, peer.rank, packet, payload);
}

void ShmMethod::take_rings() {
  const std::size_t before = announced_.size();
  if (!directory_->take_announced(announced_)) lose_all();
  for (std::size_t i = before; i < announced_.size(); ++i) {
    const RingHeader& ring = *announced_[i].header;
    meet(ring.from);
    // Relaxed: ordered by take_list.
    if (ring.behind.load(std::memory_order_relaxed) > inbox_.tail())
      lose(ring.from, Errc::protocol, "has announced a ring that never begins");
  }
  begin_rings();
}

void ShmMethod::begin_rings() {
  std::erase_if(announced_, [&](const Ring& ring) {
    if (ring.header->behind.load(std::memory_order_relaxed) > inbox_.position()) return false;  // relaxed: as above
    const std::uint32_t from = ring.header->from;
    Peer& peer = peers_[from];
    if (peer.lost) return true;
    if (peer.in) {
      lose(from, Errc::protocol, "has announced a second ring");
      return true;
    }
    peer.in = std::make_unique<Inbound>(ring, directory_->map().shape(), directory_->control(from), peer.rank, from);
    inbound_.push_back(peer.in.get());
    return true;
  });
}

void ShmMethod::return_mail() {
  inbox_.give_back();
  Atomic<std::uint32_t>& wanted = directory_->inbox(directory_->me()).header->wanted;
  os::light_fence(asymmetric_);
  // Relaxed: the fence orders. Acquire: whoever sleeps for want of room has said so, in `sleeping`, before. Nobody
  // knows who it is, and it is rare.
  if (wanted.load(std::memory_order_relaxed) == 0 || wanted.exchange(0, std::memory_order_acquire) == 0) return;
  for (std::uint32_t rank = 0; rank < peers_.size(); ++rank) {
    if (rank != directory_->me()) ring_if_asleep(directory_->control(rank).sleeping, peers_[rank].rank);
  }
}

// A sender that has ended may have left a cell half filled, or have published one without a word.
void ShmMethod::look_after_inbox() {
  if (!inbox_.sane(static_cast<std::uint32_t>(peers_.size()))) return lose_all();
  for (;;) {
    const std::uint32_t claimant = inbox_.claimant();
    if (claimant >= peers_.size() || claimant == directory_->me() || !watch_->is_gone(claimant)) break;
    if (inbox_.claimant() != claimant) break;  // it has filled the cell before it ended
    inbox_.skip();
  }
  begin_rings();
  if (inbox_.ready()) busy_ = mail_left_ = true;
}

void ShmMethod::meet(std::uint32_t host_rank) {
  Peer& peer = peers_[host_rank];
  if (peer.met) return;
  peer.met = true;
  unwatched_.push_back(host_rank);
  trace_.event(Event::link_up, static_cast<std::uint8_t>(id()), peer.rank);
}

}  // namespace rmq::shm
