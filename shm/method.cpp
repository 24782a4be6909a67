// SPDX-License-Identifier: BSD-3-Clause
#include "shm/method.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/os/clock.hpp"
#include "shm/single_copy.hpp"

namespace rmq::shm {
namespace {

using methods::Outcome;

// Largest message sent at once. Where the receiver can fetch, a request, a get and an answer take less time from 4 to 8
// KB on than two copies one after the other; without single copies only the second round trip counts.
constexpr std::size_t kEagerMost = 8 * 1024;
constexpr std::size_t kEagerMostNoFetch = 32 * 1024;
constexpr std::size_t kFragmentMost = 64 * 1024;   // small enough that both sides copy at the same time
constexpr std::uint64_t kAskAgainNs = 10'000'000;  // between requests for memory that the system has refused

std::uint64_t random_word() {
  return os::ticks() * 0x9e3779b97f4a7c15u ^ static_cast<std::uint64_t>(os::wall_ns());
}

}  // namespace

Result<std::unique_ptr<methods::Method>> make_shm(const methods::MethodContext& context) {
  auto probe = std::make_unique<const std::uint64_t>(random_word());
  std::unique_ptr<const Directory> directory;
  if (context.bootstrap.job().host_size > 1) {
    auto opened = Directory::open(context.config, context.bootstrap, *probe);
    if (!opened) return tl::unexpected(opened.error());
    directory = std::make_unique<const Directory>(std::move(*opened));
  }
  return std::make_unique<ShmMethod>(context, std::move(probe), std::move(directory));
}

ShmMethod::ShmMethod(const methods::MethodContext& context, std::unique_ptr<const std::uint64_t> probe,
                     std::unique_ptr<const Directory> directory)
    : sink_(context.sink),
      control_(&nobody_),
      config_(context.config),
      trace_(context.trace),
      doorbell_(context.doorbell),
      job_(context.bootstrap.job()),
      probe_(std::move(probe)),
      directory_(std::move(directory)),
      host_rank_of_(static_cast<std::size_t>(job_.size), kElsewhere) {
  outbound_.assign(static_cast<std::size_t>(job_.size), &nowhere_);
  if (!directory_) return;
  const Map& map = directory_->map();
  control_ = &directory_->mine();
  asymmetric_ = directory_->asymmetric();
  transfers_ = std::make_unique<Transfers>(*directory_, sink_);
  watch_ = std::make_unique<PeerWatch>(*directory_, doorbell_);
  inbox_ = InboxReader(directory_->inbox(directory_->me()));
  heap_ = Heap(directory_->segment(), map.heap_at(directory_->me()), map.shape().heap_bytes);
  peers_.resize(map.shape().ranks);
  inbound_.reserve(map.shape().ranks);
  std::uint32_t next = 0;  // host ranks count the ranks of a host in world order
  for (Rank rank = 0; rank < job_.size; ++rank) {
    if (!job_.host_of_rank.same(rank, job_.rank)) continue;
    RMQ_CHECK(next < map.shape().ranks);
    peers_[next].rank = rank;
    if (rank != job_.rank) host_rank_of_[static_cast<std::size_t>(rank)] = next;
    ++next;
  }
  const std::size_t most = max_payload(map.shape().ring_bytes);
  const std::size_t eager = config_.shm_single_copy && control_->single_copy != 0 ? kEagerMost : kEagerMostNoFetch;
  eager_max_ = std::min(config_.eager_max != 0 ? static_cast<std::size_t>(config_.eager_max) : eager, most);
  fragment_max_ = std::min(kFragmentMost, most);
  last_look_ns_ = os::now_ns();
}

ShmMethod::~ShmMethod() {
  ShmMethod::close();
}

void ShmMethod::close() {
  if (directory_)
    control_->state.store(rank_state::closed, std::memory_order_release);  // acquired by PeerWatch::left_in_order
}

// No ring to that rank, or one without a free cell.
Outcome ShmMethod::send_slowly(Rank to, const Packet& packet, const Payload& payload) {
  const std::uint32_t host_rank = host_rank_of(to);
  if (host_rank == kElsewhere) return Outcome::failed;
  Peer& peer = peers_[host_rank];
  if (peer.lost) return Outcome::failed;
  if (!peer.out) {
    if (goes_by_mail(peer, packet)) {
      const Outcome mailed = mail(host_rank, packet, payload);
      if (mailed != Outcome::retry) return mailed;
      if (peer.no_ring_until_ns != 0 && os::now_ns() < peer.no_ring_until_ns) return starve(host_rank);
      // The receiver computes, and has much from others: a ring of its own has room.
    }
    if (const auto ring = take_ring(peer, host_rank); !ring) {
      if (ring.error().code == Errc::no_memory && packet.length <= inline_room(packet.kind)) {
        peer.no_ring_until_ns = os::now_ns() + kAskAgainNs;
        const Outcome mailed = mail(host_rank, packet, payload);
        return mailed == Outcome::retry ? starve(host_rank) : mailed;
      }
      cannot_reach(host_rank, ring.error());
      return Outcome::failed;
    }
    connect(peer, host_rank);
  } else if (!peer.out->refresh()) {
    lose(host_rank, Errc::protocol, "returned more of a ring than it was sent");
    return Outcome::failed;
  }
  return peer.out->cells.full() ? starve(host_rank) : send(to, packet, payload, nullptr);
}

Outcome ShmMethod::write_after_refresh(Rank to, const Packet& packet, const Payload& payload) {
  RMQ_CHECK(packet.length <= std::max(eager_max_, fragment_max_));
  Peer& peer = peer_of(to);
  if (!peer.out->refresh()) {
    lose(host_rank_of(to), Errc::protocol, "returned more of a ring than it was sent");
    return Outcome::failed;
  }
  Outbound& out = *peer.out;
  if (out.write(packet, payload)) return Outcome::done;
  if (out.cells.full()) return starve(host_rank_of(to));
  std::uint64_t size = out.bytes.next_size(packet.length);
  if (size == out.bytes.size()) return starve(host_rank_of(to));
  // Whether the part in use has room for it once it is empty.
  const bool may_wait = packet.length <= max_payload(static_cast<std::uint32_t>(out.bytes.size()));
  if (may_wait && out.no_memory_until_ns != 0 && os::now_ns() < out.no_memory_until_ns) return starve(host_rank_of(to));
  const std::uint64_t least = out.bytes.least_size(packet.length);
  auto memory = directory_->widen(out.ring, size, host_rank_of(to));
  while (!memory && size > least) memory = directory_->widen(out.ring, size /= 2, host_rank_of(to));
  if (memory) {
    out.no_memory_until_ns = 0;
    out.grow_and_write(packet, payload, size);
    return Outcome::done;
  }
  if (may_wait) {
    out.no_memory_until_ns = os::now_ns() + kAskAgainNs;
    return starve(host_rank_of(to));
  }
  cannot_reach(host_rank_of(to), memory.error());
  return Outcome::failed;
}

Outcome ShmMethod::starve(std::uint32_t host_rank) {
  if (std::find(starved_.begin(), starved_.end(), host_rank) == starved_.end()) starved_.push_back(host_rank);
  return Outcome::retry;
}

// A ring once claimed stays the pair's, also when its memory has yet to be had.
Result<void> ShmMethod::take_ring(Peer& peer, std::uint32_t host_rank) {
  if (!peer.claimed) {
    auto ring = directory_->claim_ring();
    if (!ring) return tl::unexpected(ring.error());
    peer.claimed = *ring;
  }
  if (peer.has_memory) return {};
  if (auto ok = directory_->open_ring(*peer.claimed, host_rank); !ok) return ok;
  peer.has_memory = true;
  return {};
}

void ShmMethod::connect(Peer& peer, std::uint32_t host_rank) {
  meet(host_rank);
  directory_->announce(*peer.claimed);
  ring_if_asleep(directory_->control(host_rank).sleeping, peer.rank);
  peer.out =
      std::make_unique<Outbound>(*peer.claimed, directory_->map().shape(), directory_->control(host_rank), peer.rank);
  outbound_[static_cast<std::size_t>(peer.rank)] = peer.out.get();
}

bool ShmMethod::may_single_copy(std::uint32_t host_rank) {
  Peer& peer = peers_[host_rank];
  if (peer.single_copy != Access::unknown) return peer.single_copy == Access::yes;
  const RankControl& theirs = directory_->control(host_rank);
  // Acquire pairs with announce_me. A peer that has not come yet is asked about again later.
  if (theirs.state.load(std::memory_order_acquire) == rank_state::absent) return false;
  const bool works = config_.shm_single_copy && control_->single_copy != 0 && theirs.single_copy != 0 &&
                     probe_single_copy(theirs.pid, theirs.probe_address, theirs.probe_word);
  peer.single_copy = works ? Access::yes : Access::no;
  return works;
}

std::uint64_t ShmMethod::expose(Rank rank, const DataView& view) {
  const std::uint32_t peer = host_rank_of(rank);
  if (peer == kElsewhere || view.bytes == 0 || !view.is_contiguous()) return 0;
  const std::byte* const start = view.base;
  if (heap_.contains(start, view.bytes)) {
    return kInSegment | static_cast<std::uint64_t>(start - directory_->segment().data());
  }
  // The peer will copy, but its permission is symmetric to ours: same user, same kernel, both let in by prctl.
  return may_single_copy(peer) ? reinterpret_cast<std::uintptr_t>(start) : 0;
}

std::uint64_t ShmMethod::reach(Rank rank, std::uint64_t at) {
  const std::uint32_t peer = host_rank_of(rank);
  return peer != kElsewhere && (at & kInSegment) == 0 && may_single_copy(peer) ? at : 0;
}

bool ShmMethod::copies_fast(std::uint64_t address) const {
  return (address & kInSegment) != 0 || single_copy_is_fast();
}

methods::Pull ShmMethod::how_to_pull(Rank from, std::uint64_t address, std::uint64_t bytes, bool timed) {
  if (copies_fast(address)) return methods::Pull::get;
  const std::uint32_t peer = host_rank_of(from);
  if (const auto& pulls = peers_[peer].pulls) {
    if ((timed ? pulls->next(bytes) : pulls->best(bytes)) == methods::Pull::get) return methods::Pull::get;
  }
  const RankControl& theirs = directory_->control(peer);
  // Relaxed: hints. Who sleeps would have to be woken first; who computes may do so for long.
  if (theirs.sleeping.load(std::memory_order_relaxed) != 0) return methods::Pull::get;
  return theirs.attention.load(std::memory_order_relaxed) != 0 ? methods::Pull::ask : methods::Pull::unsure;
}

void ShmMethod::pulled(Rank from, methods::Pull how, std::uint64_t bytes, std::uint64_t since) {
  auto& pulls = peers_[host_rank_of(from)].pulls;
  if (!pulls) pulls = std::make_unique<PullChoice>(directory_->map().shape().ring_bytes);
  if (since == 0) return pulls->refused(bytes);
  const std::uint64_t now = os::ticks();
  if (const auto over = pull_periods_.add(how, host_rank_of(from), bytes, since, now))
    peers_[over->peer].pulls->measured(*over, now);
}

std::uint64_t ShmMethod::mem_token(const void* memory, std::uint64_t bytes) const {
  if (!heap_.contains(memory, bytes)) return 0;
  return kInSegment | static_cast<std::uint64_t>(static_cast<const std::byte*>(memory) - directory_->segment().data());
}

std::byte* ShmMethod::mem_map(Rank owner, std::uint64_t token, std::uint64_t bytes) const {
  const std::uint32_t peer = host_rank_of(owner);
  if (peer == kElsewhere || (token & kInSegment) == 0) return nullptr;
  const Map& map = directory_->map();
  const std::uint64_t offset = token & ~kInSegment;
  if (offset < map.heap_at(peer) || offset > map.heap_at(peer + 1) || bytes > map.heap_at(peer + 1) - offset) {
    return nullptr;
  }
  return directory_->segment().data() + offset;
}

std::size_t ShmMethod::rings() const {
  return static_cast<std::size_t>(std::ranges::count_if(peers_, [](const Peer& p) { return p.out != nullptr; }));
}

bool ShmMethod::gone(Rank rank) const {
  const std::uint32_t peer = host_rank_of(rank);
  return peer != kElsewhere && (peers_[peer].lost || watch_->is_gone(peer));
}

Outcome ShmMethod::get(Rank from, std::uint64_t address, const DataView& into, std::uint64_t bytes, Request* owner) {
  Transfer t;
  t.address = address;
  t.view = into;
  t.bytes = bytes;
  t.owner = owner;
  return transfer(t, from);
}

Outcome ShmMethod::put(Rank to, std::uint64_t address, const DataView& data, std::uint64_t bytes, Request* owner) {
  Transfer t;
  t.put = true;
  t.address = address;
  t.view = data;
  t.bytes = bytes;
  t.owner = owner;
  return transfer(t, to);
}

Outcome ShmMethod::transfer(Transfer t, Rank rank) {
  t.peer = host_rank_of(rank);
  if (t.peer == kElsewhere || peers_[t.peer].lost) return Outcome::failed;
  if (t.bytes == 0) return Outcome::done;
  if ((t.address & kInSegment) != 0) {
    const Map& map = directory_->map();
    const std::uint64_t offset = t.address & ~kInSegment;
    if (offset < map.heap_at(t.peer) || offset > map.heap_at(t.peer + 1) ||
        t.bytes > map.heap_at(t.peer + 1) - offset) {
      lose(t.peer, Errc::protocol, "exposed an address outside of its shared heap");
      return Outcome::failed;
    }
  }
  if (t.bytes >= kTogether && t.owner != nullptr) {
    // One at a time: when it is through, the owner of the next one's data may have time to send it.
    if (!single_copy_is_fast() && !transfers_->empty()) return Outcome::retry;
    transfers_->start(t);
    busy_ = true;
    return Outcome::queued;
  }
  const Transfers::Failure failure = transfers_->run(t);
  if (failure.error == 0) return Outcome::done;
  if (failure.is_loss()) lose(t.peer, Errc::peer_lost, "has ended while long data was copied to or from it");
  return Outcome::failed;
}

}  // namespace rmq::shm
