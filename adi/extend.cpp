// What the device does for the floors above it that have packets of their own: it hands their packets up, and sends
// theirs, in order for each peer.
//
// Such packets spend no credit: whatever arrives is executed at once, or bounded by its own protocol. A packet that the
// link refuses waits in the peer's queue `ordered`, and all later ones behind it. A payload that has an owner is not
// copied then, but read when its turn comes.
#include <cstdlib>

#include "adi/device.hpp"
#include "adi/dispatch.hpp"

namespace rmq::adi {

using methods::Outcome;

namespace {

// Bytes of our memory that an answer fills while it waits. Its data where that is a copy, made here or by its owner.
std::uint64_t answer_bytes(const Request& r) {
  const Kind kind = r.packet.kind;
  const bool answers =
      kind == Kind::RMA_REPLY || kind == Kind::RMA_ACK || kind == Kind::RMA_LOCK_GRANTED || kind == Kind::DATATYPE_DEFN;
  if (!answers) return 0;
  const auto* owner = static_cast<const Request*>(r.user);
  const bool copied = r.owned || (owner && owner->owned);
  return sizeof(Request) + (copied ? r.expected : 0);
}

}  // namespace

void Device::MPID_Register(Kind first, Kind last, Extension& extension) {
  for (auto kind = static_cast<std::size_t>(first); kind <= static_cast<std::size_t>(last); ++kind) {
    sink_.on_packet[kind] = &Device::on_extension;
    extension_of_[kind] = &extension;
  }
  extensions_.push_back(&extension);
}

void Device::MPID_Unregister(Extension& extension) {
  for (std::size_t kind = 0; kind < extension_of_.size(); ++kind) {
    if (extension_of_[kind] != &extension) continue;
    sink_.on_packet[kind] = &Device::on_unknown;
    extension_of_[kind] = nullptr;
  }
  std::erase(extensions_, &extension);
  if (extensions_.empty()) wants_turns_ = false;  // else another one may still want them
}

void Device::on_extension(void* device, Rank from, const Packet& p, const std::byte* payload) {
  auto& d = *static_cast<Device*>(device);
  d.received(from, p);
  if (d.peers_[d.index(from)].dropped) [[unlikely]]
    return;
  d.extension_of_[static_cast<std::size_t>(p.kind)]->on_packet(from, p, payload);
}

int Device::advance_extensions() {
  int n = 0;
  for (Extension* e : extensions_) n += e->advance();
  return n;
}

void Device::sent(Request* owner, Errc error) {
  if (!owner) return;
  if (error != Errc::ok) owner->status.error = error;
  finish(owner);
}

void Device::MPID_Send_packet(Rank to, Packet& p, const Payload& payload, Request* owner) {
  Peer& peer = peers_[index(to)];
  if (peer.lost) return sent(owner, Errc::peer_lost);
  p.length = static_cast<std::uint32_t>(payload.bytes);
  if (peer.ordered.empty()) [[likely]] {
    const Outcome o = hand_down(to, peer, p, payload, owner);
    if (o == Outcome::queued) return;
    if (o != Outcome::retry) return sent(owner, o == Outcome::done ? Errc::ok : Errc::peer_lost);
  }
  Request* r = pool_.get();
  r->kind = RequestKind::control;
  r->packet = p;
  r->user = owner;
  r->view = payload.view;
  r->stamp = payload.offset;
  r->expected = payload.bytes;
  if (!owner && payload.bytes > 0) {
    r->owned = static_cast<std::byte*>(std::malloc(payload.bytes));
    RMQ_CHECK(r->owned != nullptr);
    r->owned_bytes = payload.bytes;
    pack(r->owned, payload.view, payload.offset, payload.bytes);
    r->view = DataView::contiguous(r->owned, payload.bytes);
    r->stamp = 0;
  }
  peer.ordered.push_back(r);
  peer.answer_bytes += answer_bytes(*r);
  trace_.packet(Event::pending, static_cast<std::uint8_t>(peer.id), to, p, kLinkFull, peer.ordered.size());
  schedule(peer, to);
}

void Device::gather(Rank to, bool on) {
  Peer& peer = peers_[index(to)];
  if (peer.method) with_method(*peer.method, peer.id, [&](auto& m) { m.gather(to, on); });
}

int Device::drain_ordered(Peer& peer, Rank rank) {
  int n = 0;
  for (; !peer.ordered.empty(); ++n) {
    Request* r = peer.ordered.front();
    auto* owner = static_cast<Request*>(r->user);
    const Outcome o = hand_down(rank, peer, r->packet, Payload{r->view, r->stamp, r->expected}, owner);
    if (o == Outcome::retry) return n;
    peer.answer_bytes -= answer_bytes(*r);
    pool_.put(peer.ordered.pop_front());
    if (o != Outcome::queued) sent(owner, o == Outcome::done ? Errc::ok : Errc::peer_lost);
  }
  return n;
}

void Device::drop_ordered(Peer& peer) {
  while (!peer.ordered.empty()) {
    Request* r = peer.ordered.pop_front();
    peer.answer_bytes -= answer_bytes(*r);
    auto* owner = static_cast<Request*>(r->user);
    pool_.put(r);
    sent(owner, Errc::peer_lost);
  }
}

void Device::MPID_Wake(Rank rank) {
  Peer& peer = peers_[index(rank)];
  if (!peer.method || with_method(*peer.method, peer.id, [&](auto& m) { return m.wake(rank); })) return;
  const std::vector<int>& host = job().host_of_rank;
  if (host[index(rank)] == host[index(rank_)]) doorbell_->ring(rank);
}

bool Device::MPID_Gone(Rank rank) const {
  const Peer& peer = peers_[index(rank)];
  return peer.lost || (peer.method && peer.method->gone(rank));
}

std::uint64_t Device::MPID_Mem_token(const void* memory, std::uint64_t bytes) const {
  for (const auto& m : methods_) {
    if (const std::uint64_t token = m->mem_token(memory, bytes)) return token;
  }
  return 0;
}

std::byte* Device::MPID_Mem_map(Rank owner, std::uint64_t token, std::uint64_t bytes) const {
  const Peer& peer = peers_[index(owner)];
  return peer.method && token ? peer.method->mem_map(owner, token, bytes) : nullptr;
}

void Device::MPID_Enable_threads() {
  if (threads_) return;
  mutex_.lock();  // the caller's Entry unlocks it
  threads_ = true;
}

void Device::MPID_Disable_threads() {
  if (!threads_) return;
  threads_ = false;
  mutex_.unlock();
}

}  // namespace rmq::adi
