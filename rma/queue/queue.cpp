// SPDX-License-Identifier: BSD-3-Clause
#include "rma/queue/queue.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "base/data/copy.hpp"
#include "base/os/clock.hpp"

namespace rmq::rma {

namespace {

constexpr std::uint32_t kMessageMost = 32 * 1024;  // one packet carries it, over every method
// Of the store for packets, each member has this many places at least, however small the capacity.
constexpr std::uint32_t kShareLeast = 4;

constexpr std::uint64_t kMoment = 1'000'000'000;  // ns

constexpr const char* kNoRoom = "it sends without credit, or a message of another size";

}  // namespace

// ---- life ----

Queue::Queue(Hub& hub, const QueueOptions& options)
    : Endpoint(hub, {Kind::RMA_QUEUE_PUT, Kind::RMA_QUEUE_CREDIT}, options.id, options.ranks, options.me),
      message_(options.message),
      capacity_(options.capacity) {}

Result<std::unique_ptr<Queue>> Queue::prepare(Hub& hub, const QueueOptions& options) {
  if (options.message == 0 || options.message > kMessageMost || options.capacity == 0 ||
      options.capacity > (1u << 30)) {
    return fail(Errc::argument, "a queue buffer holds 1 to 2^30 messages of 1 to 32768 bytes");
  }
  std::unique_ptr<Queue> q(new Queue(hub, options));
  const std::uint64_t bytes = q->store_bytes();
  void* memory = hub.device().MPID_Mem_alloc(bytes + kCacheLine);
  if (!memory) return fail(Errc::no_memory, "no memory for a queue buffer; make it smaller or raise RMQ_SHM_HEAP");
  std::memset(memory, 0, bytes + kCacheLine);
  q->mine_ = QueueStore(memory, options.message, options.capacity);
  q->mine_.open(q->round_, 0);
  q->stores_.resize(options.ranks.size());
  q->remotes_.resize(options.ranks.size());
  q->senders_.resize(options.ranks.size());
  q->share_ = share_of(options.capacity, static_cast<std::uint32_t>(q->size()));
  hub.add(*q);
  return q;
}

std::uint32_t Queue::share_of(std::uint32_t capacity, std::uint32_t members) {
  return std::min(std::max(kShareLeast, capacity / members), (INT32_MAX - capacity) / members);
}

std::array<std::uint64_t, Queue::kWords> Queue::contribution() const {
  return {device().mem_token(mine_.memory(), store_bytes())};
}

void Queue::open(std::span<const std::uint64_t> all) {
  for (int member = 0; member < size(); ++member) {
    const auto i = static_cast<std::size_t>(member);
    if (member == me()) {
      stores_[i] = mine_;
      continue;
    }
    if (std::byte* memory = device().mem_map(world(member), all[i], store_bytes())) {
      stores_[i] = QueueStore(memory, message_, capacity_);
      continue;
    }
    Remote& r = remotes_[i];
    r.credit = share_;
    r.staging = std::make_unique<std::byte[]>(std::size_t{share_} * message_);
    r.carrier = device().MPID_Request_create(RequestKind::other);
  }
}

Queue::~Queue() {
  hub().remove(*this);
  for (Remote& r : remotes_) {
    if (!r.carrier) continue;
    device().MPID_Wait(r.carrier);
    device().MPID_Request_free(r.carrier);
  }
  device().MPID_Mem_free(mine_.memory());
}

// ---- put ----

Queue::Put Queue::try_put(int target, const void* message) {
  const auto i = static_cast<std::size_t>(target);
  const Put put = !stores_[i]                     ? put_packet(target, remotes_[i], message)
                  : stores_[i].put(message, me()) ? Put::done
                                                  : Put::refused;
  // The buffer of one that has died stays full, or locked.
  if (put == Put::refused && !device().peer_error(world(target)).empty()) return Put::lost;
  ++(put == Put::done ? counters_.puts : counters_.refused);
  return put;
}

Queue::Put Queue::put_packet(int target, Remote& r, const void* message) {
  if (device().is_gone(world(target))) return Put::lost;
  if (r.credit == 0 || r.closed) return Put::refused;
  --r.credit;
  std::byte* staged = r.staging.get() + std::size_t{r.next} * message_;
  r.next = r.next + 1 == share_ ? 0 : r.next + 1;
  std::memcpy(staged, message, message_);
  Packet p = packet(Kind::RMA_QUEUE_PUT);
  // Relaxed: under the device's lock, as its completion is.
  r.carrier->incomplete.store(r.carrier->incomplete.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  device().send_packet(world(target), p, {DataView::contiguous(staged, message_), 0, message_}, r.carrier);
  return Put::done;
}

// ---- get ----

std::uint32_t Queue::get(std::byte* to) {
  std::uint32_t n = take_direct(to);
  n += take_arrived(to + std::size_t{n} * message_);
  counters_.taken += n;
  if (n > 0) ++counters_.rounds;
  return n;
}

// Until the message is whole; false when it never will be.
bool Queue::await(std::uint32_t index) {
  const auto whole = [&] { return mine_.whole(index, round_); };
  const auto gone = [&](Rank r) { return r != device().rank() && device().is_gone(r); };
  std::uint64_t give_up = 0;
  while (!whole()) {
    // Its sender has been interrupted between its count and its stamp; or it has died there.
    device().MPID_Poll(false);
    const std::int64_t member = mine_.sender(index, round_);
    if (member >= 0 && member < size()) {
      if (gone(world(static_cast<int>(member)))) return whole();
    } else if (std::any_of(ranks().begin(), ranks().end(), gone)) {
      // Nobody's name is on it, and somebody is dead. A living sender needs a moment to write its name.
      if (give_up == 0) give_up = os::now_ns() + kMoment;
      if (os::now_ns() > give_up) return whole();
    }
  }
  return true;
}

std::uint32_t Queue::take_direct(std::byte* to) {
  std::uint32_t taken = pending_;
  if (!locked_) {
    if (mine_.empty()) return 0;
    taken = mine_.close(round_);
  }
  std::uint32_t n = 0;
  for (std::uint32_t i = 0; i < taken; ++i) {
    if (!await(i)) {
      ++counters_.lost;
      continue;
    }
    copy_bytes(to + std::size_t{n++} * message_, mine_.message(i), message_);
  }
  pending_ = 0;
  ++round_;
  mine_.open(round_, locked_ ? capacity_ : 0);
  return n;
}

std::uint32_t Queue::take_arrived(std::byte* to) {
  std::uint32_t n = 0;
  for (int member = 0; member < size(); ++member) {
    Sender& s = senders_[static_cast<std::size_t>(member)];
    if (s.arrived == 0) continue;
    for (std::uint32_t i = 0; i < s.arrived; ++i) {
      std::memcpy(to + std::size_t{n++} * message_, s.store.get() + std::size_t{s.first} * message_, message_);
      s.first = s.first + 1 == share_ ? 0 : s.first + 1;
    }
    tell(member, std::exchange(s.arrived, 0));
  }
  return n;
}

void Queue::lock() {
  if (locked_) return;
  pending_ = mine_.close(round_);
  locked_ = true;
  for (int member = 0; member < size(); ++member) {
    if (!stores_[static_cast<std::size_t>(member)]) tell(member, 0);
  }
}

void Queue::unlock() {
  if (!locked_) return;
  locked_ = false;
  mine_.open(round_, pending_);
  pending_ = 0;
  for (int member = 0; member < size(); ++member) {
    if (!stores_[static_cast<std::size_t>(member)]) tell(member, 0);
  }
}

// ---- packets ----

void Queue::tell(int member, std::uint32_t credit) {
  Packet p = packet(Kind::RMA_QUEUE_CREDIT);
  p.rma_queue_credit.credit = credit;
  p.rma_queue_credit.locked = locked_ ? 1 : 0;
  device().send_packet(world(member), p, {}, nullptr);
}

std::byte* Queue::room_for(int from, const Packet& p) {
  Sender& s = senders_[static_cast<std::size_t>(from)];
  if (p.length != message_ || s.arrived + s.landing >= share_) return nullptr;
  if (!s.store) s.store = std::make_unique<std::byte[]>(std::size_t{share_} * message_);
  return s.store.get() + std::size_t{(s.first + s.arrived + s.landing) % share_} * message_;
}

const char* Queue::land(int from, const Packet& p, methods::Landing& landing) {
  std::byte* const room = p.kind == Kind::RMA_QUEUE_PUT ? room_for(from, p) : nullptr;
  if (!room) return kNoRoom;
  ++senders_[static_cast<std::size_t>(from)].landing;
  landing = {DataView::contiguous(room, p.length), 0, p.length, nullptr};
  return nullptr;
}

void Queue::landed(int from, const Packet&, bool well) {
  Sender& s = senders_[static_cast<std::size_t>(from)];
  --s.landing;
  if (well) ++s.arrived;
}

const char* Queue::arrive(int from, const Packet& p, const std::byte* payload) {
  if (p.kind == Kind::RMA_QUEUE_PUT) {
    std::byte* room = room_for(from, p);
    if (!room) return kNoRoom;
    std::memcpy(room, payload, p.length);
    ++senders_[static_cast<std::size_t>(from)].arrived;
    return nullptr;
  }
  Remote& r = remotes_[static_cast<std::size_t>(from)];
  // Its owner may lock it before this rank has opened it, and gives no credit with that.
  if (p.rma_queue_credit.credit > share_ - r.credit) return "it gives more credit than its queue has";
  r.credit += p.rma_queue_credit.credit;
  r.closed = p.rma_queue_credit.locked != 0;
  return nullptr;
}

}  // namespace rmq::rma
