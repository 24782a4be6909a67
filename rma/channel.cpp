// When operations leave for a target that is reached by packets, and which of them carry lock, unlock and the wish for
// an acknowledgement. The protocol of passive target:
//
//   origin                                          target
//   lock, put, unlock, put short:
//     PUT [lock, unlock, ack] ------------------->  takes the lock, or queues the packet; puts; unlocks
//                             <-------------------  ACK
//   more than that:
//     LOCK ---------------------------------------> takes the lock, or queues the packet
//                             <-------------------  LOCK_GRANTED
//     PUT, PUT, GET [unlock] --------------------->  a get goes last, for its answer acknowledges what was before it
//                             <-------------------  REPLY
//
// Operations are queued until the lock is held; then a few short ones still are, so that they leave together, and the
// latest until the next call shows whether it is the last. Acknowledgements count: each says that everything up to a
// number has been done.
#include <algorithm>

#include "rma/window_state.hpp"

namespace rmq::rma {
namespace {

constexpr std::uint64_t kRideMost = 8 * 1024;  // bytes that may travel, and wait, with a request for the lock
constexpr std::uint64_t kLagMost = 8 * 1024;   // bytes of operations that wait for others, or for a flag to carry
constexpr std::uint32_t kLagging = 128;        // how many of them
constexpr std::uint32_t kQueueMost = 256;      // operations that wait before the lock is asked for

std::uint8_t lock_flag(LockType type) {
  return type == LockType::shared ? rma_flag::lock_shared : rma_flag::lock_exclusive;
}

}  // namespace

Channel& Window::channel(int rank) {
  auto& slot = channels_[static_cast<std::size_t>(rank)];
  if (!slot) {
    slot = std::make_unique<Channel>();
    slot->rank = rank;
    slot->to = world(rank);
  }
  Channel& c = *slot;
  if (!c.busy) {
    c.busy = true;
    busy_.push_back(rank);
  }
  if (c.state != Channel::State::closed) return c;
  c.locks = false;
  if ((all_ & kLockAll) != 0 && !nocheck_all_) {
    c.state = Channel::State::unlocked;
    c.type = LockType::shared;
    c.locks = true;
  } else if (accessing_) {
    c.state = has_posted(rank) ? Channel::State::open : Channel::State::unposted;
  } else {
    c.state = Channel::State::open;
  }
  return c;
}

void Window::pump(Channel& c) {
  if (c.state == Channel::State::unlocked &&
      (c.urgent || c.queued_bytes > device().config().rma_queue || c.queued > kQueueMost)) {
    return ask_for_lock(c);
  }
  if (c.state == Channel::State::unposted && has_posted(c.rank)) c.state = Channel::State::open;
  if (c.state != Channel::State::open || !c.head) return;
  const bool small = c.queued <= kLagging && c.queued_bytes <= kLagMost && c.tail->bytes <= kLagMost;
  if (!c.urgent && small) return;
  const adi::Device::Together together(device(), c.to);
  if (!c.urgent) keep_get_for_last(c, kLagMost);
  while (c.head) {
    const bool waits = !c.urgent && c.head == c.tail && c.head->bytes <= kLagMost;
    if (waits) return;
    send(c, c.head, 0);
  }
  c.urgent = false;
}

// Moves the first get to the end of the queue, unless something with an answer stands there: gets are not ordered with
// anything, and the answer to the last operation acknowledges all.
void Window::keep_get_for_last(Channel& c, std::uint64_t most) {
  if (c.head == c.tail || c.tail->replies) return;
  for (Op** link = &c.head; *link; link = &(*link)->next) {
    Op* get = *link;
    if (get->packet.kind != Kind::RMA_GET || get->bytes > most) continue;
    *link = get->next;
    c.tail->next = get;
    get->next = nullptr;
    c.tail = get;
    return;
  }
}

void Window::ask_for_lock(Channel& c) {
  c.state = Channel::State::asked;
  Packet p(Kind::RMA_LOCK);
  p.context = options_.id;
  p.source = me();
  p.flags = lock_flag(c.type);
  device().MPID_Send_packet(c.to, p, Payload{}, nullptr);
}

void Window::granted(Channel& c) {
  c.state = Channel::State::open;
  c.rider = 0;
  pump(c);
}

void Window::lock_answered(int rank, Fault fault, Rank culprit) {
  auto& slot = channels_[static_cast<std::size_t>(rank)];
  if (!slot || slot->state != Channel::State::asked || slot->rider != 0) return;
  if (fault == Fault::none) return granted(*slot);
  slot->culprit = culprit;
  abandon(*slot, fault);
}

void Window::acknowledged(int rank, std::uint64_t number, Fault fault, Rank culprit) {
  Channel& c = *channels_[static_cast<std::size_t>(rank)];
  c.acked = std::max(c.acked, number);
  if (fault != Fault::none) note_fault(rank, fault, culprit);
  if (c.rider != 0 && number >= c.rider && c.state == Channel::State::asked) granted(c);
}

void Window::note_fault(int rank, Fault fault, Rank culprit) {
  auto& c = channels_[static_cast<std::size_t>(rank)];
  if (!c || c->fault != Fault::none) return;
  c->fault = fault;
  c->culprit = culprit;
}

// The first step of a flush or unlock: a single short operation takes the request for the lock with it, others ask.
void Window::lead_out(Channel& c, bool unlock) {
  if (c.state != Channel::State::unlocked || !c.head) return;
  const std::uint64_t most = std::min<std::uint64_t>(kRideMost, device().MPID_Fragment_max(c.to));
  if (c.head != c.tail || c.head->data.bytes > most) return ask_for_lock(c);
  c.state = Channel::State::asked;
  if (unlock) c.locks = false;  // nothing will be left to release
  send(c, c.head, static_cast<std::uint8_t>(lock_flag(c.type) | rma_flag::ack | (unlock ? rma_flag::unlock : 0)));
}

// The last step: all that is queued leaves, the last of it with the flags. The caller gathers (Device::Together).
void Window::drain(Channel& c, bool unlock, bool remote) {
  if (c.state != Channel::State::open) return;
  if (unlock || remote) keep_get_for_last(c, UINT64_MAX);
  const bool release = unlock && c.locks;
  if (c.head) {
    while (c.head) {
      const bool last = c.head == c.tail;
      const auto flags = static_cast<std::uint8_t>((release ? rma_flag::unlock : 0) | (remote ? rma_flag::ack : 0));
      send(c, c.head, last ? flags : 0);
    }
    c.urgent = false;
    return;
  }
  const bool ask = remote && c.asked_to < c.sent;
  if (!ask && !release) return;
  Packet p(release ? Kind::RMA_UNLOCK : Kind::RMA_FLUSH);
  p.context = options_.id;
  p.source = me();
  // An unlock counts as an operation, but nobody waits for its acknowledgement before the window's end, unless it
  // stands for those of others.
  if (release) ++c.sent;
  if (ask) c.needed = c.sent;
  c.asked_to = c.sent;
  const std::uint32_t ticket = domain_.new_ticket(*this, c.rank, nullptr, c.sent);
  if (release)
    p.rma_unlock.ticket = ticket;
  else
    p.rma_flush.ticket = ticket;
  device().MPID_Send_packet(c.to, p, Payload{}, nullptr);
}

bool Window::is_settled(const Channel& c, bool remote) const {
  return c.state == Channel::State::closed ||
         (!c.head && c.answers == 0 && c.sending == 0 && (!remote || c.acked >= c.needed));
}

// Flush, or unlock: for all of these targets at the same time.
Fault Window::settle(std::span<const int> ranks, bool unlock, bool remote) {
  const auto each = [&](auto&& act) {
    for (const int rank : ranks) {
      Channel* c = channels_[static_cast<std::size_t>(rank)].get();
      if (c && c->state != Channel::State::closed) act(*c);
    }
  };
  each([&](Channel& c) { lead_out(c, unlock); });
  each([&](Channel& c) {
    wait_until({WaitFor::What::operations, c.rank}, [&] {
      pump(c);  // a post may have come through shared memory
      // A rider that is all there is needs no more than its own answer.
      const bool alone = c.rider != 0 && !c.head && !(unlock && c.locks);
      return alone || (c.state != Channel::State::asked && c.state != Channel::State::unposted);
    });
    const adi::Device::Together together(device(), c.to);
    drain(c, unlock, remote);
  });
  each([&](Channel& c) { wait_until({WaitFor::What::operations, c.rank}, [&] { return is_settled(c, remote); }); });
  Fault first = Fault::none;
  for (const int rank : ranks) {
    Channel* c = channels_[static_cast<std::size_t>(rank)].get();
    if (!c) continue;
    const Fault f = take_fault(*c);
    if (first == Fault::none) first = f;
    if (unlock) close(*c);
  }
  return first;
}

void Window::close(Channel& c) {
  c.state = Channel::State::closed;
  c.rider = 0;
  c.locks = c.urgent = false;
  if (!c.busy) return;
  c.busy = false;
  std::erase(busy_, c.rank);
}

// Nothing more comes from this target: all that is queued or under way ends.
void Window::abandon(Channel& c, Fault fault) {
  note_fault(c.rank, fault, c.culprit);
  while (Op* op = c.head) {
    c.head = op->next;
    op->fault = fault;
    op->pending = 1;
    op_part_done(op);
  }
  c.tail = nullptr;
  c.queued = 0;
  c.queued_bytes = 0;
  domain_.drop_tickets(*this, c.rank, fault);
  c.acked = c.asked_to = c.needed = c.sent;
  c.state = Channel::State::closed;
  c.rider = 0;
}

Fault Window::take_fault(Channel& c) {
  const Fault fault = c.fault;
  if (fault == Fault::peer_lost) {
    const int holder = c.culprit == kNoRank ? -1 : member(c.culprit);
    lost_because_of(holder < 0 ? c.rank : holder, holder < 0 ? "" : ", and held the lock of a window");
  }
  c.fault = Fault::none;
  c.culprit = kNoRank;
  return fault;
}

}  // namespace rmq::rma
