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
//
// What is under way is bounded (kFlightMost): bytes are counted as pieces leave, and settled by answers; half of the
// flight without an answer on its way asks for one (RMA_FLUSH, between the pieces of a large operation too).
#include <algorithm>
#include <utility>

#include "rma/sender.hpp"

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

Channel& Sender::channel(int rank) {
  auto& slot = channels_[static_cast<std::size_t>(rank)];
  if (!slot) {
    slot = std::make_unique<Channel>();
    slot->rank = rank;
    slot->to = w_.world(rank);
  }
  Channel& c = *slot;
  if (!c.busy) {
    c.busy = true;
    busy_.push_back(rank);
  }
  if (c.state != Channel::State::closed) return c;
  c.locks = false;
  if (w_.epochs.has(access::lock_all) && !w_.epochs.nocheck_all) {
    c.state = Channel::State::unlocked;
    c.type = LockType::shared;
    c.locks = true;
  } else if (w_.epochs.accessing) {
    c.state = w_.has_posted(rank) ? Channel::State::open : Channel::State::unposted;
  } else {
    c.state = Channel::State::open;
  }
  return c;
}

// Sends what may leave by now.
void Sender::pump(Channel& c) {
  if (c.state == Channel::State::unlocked &&
      (c.urgent || c.queued_bytes > w_.device().config().rma_queue || c.queued > kQueueMost)) {
    return ask_for_lock(c);
  }
  if (c.state == Channel::State::unposted && w_.has_posted(c.rank)) c.state = Channel::State::open;
  if (c.state != Channel::State::open || !c.head) return;
  const bool under_way = c.head->number != 0, all = c.urgent || c.draining > 0;
  const bool small = c.queued <= kLagging && c.queued_bytes <= kLagMost && c.tail->bytes <= kLagMost;
  if (!all && small && !under_way) return;
  const adi::Device::Together together(w_.device(), c.to);
  if (!all && c.settling == 0) keep_get_for_last(c, kLagMost);  // a goal counts what is queued in its order
  while (c.head) {
    const bool waits = !all && c.head == c.tail && c.head->bytes <= kLagMost && c.head->number == 0;
    if (waits || !send(c, 0)) return;
  }
  c.urgent = false;
}

// Moves the first get to the end of the queue, unless something with an answer stands there: gets are not ordered with
// anything, and the answer to the last operation acknowledges all. Not while somebody drains: what has been issued
// after the drain's goal must not come before what it waits for.
void Sender::keep_get_for_last(Channel& c, std::uint64_t most) {
  if (c.head == c.tail || c.tail->replies || c.draining > 0) return;
  for (Op** link = &c.head; *link; link = &(*link)->next) {
    Op* get = *link;
    if (get->packet.kind != Kind::RMA_GET || get->bytes > most || get->number != 0) continue;
    *link = get->next;
    c.tail->next = get;
    get->next = nullptr;
    c.tail = get;
    return;
  }
}

void Sender::ask_for_lock(Channel& c) {
  c.state = Channel::State::asked;
  Packet p = w_.packet(Kind::RMA_LOCK);
  p.flags = lock_flag(c.type);
  w_.device().MPID_Send_packet(c.to, p, Payload{}, nullptr);
}

void Sender::granted(Channel& c) {
  c.state = Channel::State::open;
  c.rider = 0;
  pump(c);
}

void Sender::lock_answered(int rank, Fault fault, Rank culprit) {
  auto& slot = channels_[static_cast<std::size_t>(rank)];
  if (!slot || slot->state != Channel::State::asked || slot->rider != 0) return;
  if (fault == Fault::none) return granted(*slot);
  slot->culprit = culprit;
  abandon(*slot, fault);
}

void Sender::acknowledged(int rank, std::uint64_t number, std::uint64_t position, Fault fault, Rank culprit) {
  Channel& c = *channels_[static_cast<std::size_t>(rank)];
  c.acked = std::max(c.acked, number);
  c.settled = std::max(c.settled, position);
  release_types(c, number);
  if (fault != Fault::none) note_fault(rank, fault, culprit);
  if (c.rider != 0 && number >= c.rider && c.state == Channel::State::asked) return granted(c);
  pump(c);
}

// Operations up to this one are done: nobody asks for their datatypes again.
void Sender::release_types(Channel& c, std::uint64_t number) {
  for (; !c.types.empty() && c.types.front().number <= number; c.types.pop_front()) {
    w_.domain.types_out_.release(c.types.front().type);
    --c.typed;
  }
}

void Sender::note_fault(int rank, Fault fault, Rank culprit) {
  auto& c = channels_[static_cast<std::size_t>(rank)];
  if (!c || c->fault != Fault::none) return;
  c->fault = fault;
  c->culprit = culprit;
}

void Sender::flushed(int rank, std::uint64_t number, std::uint64_t position, Fault fault, Rank culprit) {
  --channels_[static_cast<std::size_t>(rank)]->asks;
  acknowledged(rank, number, position, fault, culprit);
}

void Sender::feed(int rank) {
  Channel& c = *channels_[static_cast<std::size_t>(rank)];
  c.starved = false;
  pump(c);
}

void Sender::posted(int rank) {
  if (auto& c = channels_[static_cast<std::size_t>(rank)]; c && c->state == Channel::State::unposted) pump(*c);
}

// The first step of a flush or unlock: a single short operation takes the request for the lock with it, others ask.
void Sender::lead_out(Channel& c, bool unlock) {
  if (c.state != Channel::State::unlocked || !c.head) return;
  const std::uint64_t most = std::min<std::uint64_t>(kRideMost, w_.device().MPID_Fragment_max(c.to));
  const bool leaves_at_once = c.head == c.tail && c.head->data.bytes <= most && piece_of(*c.head) >= c.head->bytes &&
                              has_room(c, c.head->bytes) && w_.domain.has_ticket();
  if (!leaves_at_once) return ask_for_lock(c);
  c.state = Channel::State::asked;
  if (unlock) c.locks = false;  // nothing will be left to release
  send(c, static_cast<std::uint8_t>(lock_flag(c.type) | rma_flag::ack | (unlock ? rma_flag::unlock : 0)));
}

Channel* Sender::in_use(int rank) const {
  Channel* c = channels_[static_cast<std::size_t>(rank)].get();
  return c && c->state != Channel::State::closed ? c : nullptr;
}

Goal Sender::goal_of(int rank) const {
  const Channel* c = in_use(rank);
  return {rank, c ? c->sent + c->queued : 0};
}

std::vector<Goal> Sender::goals() const {
  std::vector<Goal> all;
  for (const int rank : busy_) all.push_back(goal_of(rank));
  return all;
}

// The last step: everything up to the goal leaves, the last of it with the flags. Where the flight is full, the rest
// leaves as answers come, and what the flags would have said is said by a packet of its own: to be called again until
// is_settled(). The caller gathers (Device::Together).
void Sender::drain(Channel& c, const Goal& goal, bool unlock, bool asks) {
  if (c.state != Channel::State::open) return;
  // Only among what the goal covers, and where nobody else has one.
  if ((unlock || asks) && c.settling <= 1 && goal.number == c.sent + c.queued) keep_get_for_last(c, UINT64_MAX);
  const auto release = [&] { return unlock && c.locks; };
  while (c.head && (c.head->number != 0 ? c.head->number : c.sent + 1) <= goal.number) {
    const bool last = c.head->number == 0 && c.sent + 1 == goal.number;
    const auto flags = static_cast<std::uint8_t>((release() ? rma_flag::unlock : 0) | (asks ? rma_flag::ack : 0));
    const bool whole = send(c, last ? flags : 0);
    if (last && unlock && c.sent == goal.number) c.locks = false;
    if (!whole) return;
  }
  if (c.state != Channel::State::open) return;  // a packet has shown that the target is lost
  if (!c.head) c.urgent = false;
  if (!release()) {
    if (asks && c.asked_to < goal.number) ask(c);
    return;
  }
  if (!w_.domain.has_ticket()) return;
  // An unlock counts as an operation, but nobody waits for its acknowledgement before the window's end, unless it
  // stands for those of others.
  c.locks = false;
  c.asked_to = ++c.sent;
  c.asked_position = c.position;
  ++c.asks;
  Packet p = w_.packet(Kind::RMA_UNLOCK);
  p.rma_unlock.ticket = w_.domain.new_ticket(*this, c.rank, nullptr, c.sent, c.position);
  w_.device().MPID_Send_packet(c.to, p, Payload{}, nullptr);
}

bool Sender::is_settled(const Channel& c, const Goal& goal, bool remote) const {
  if (c.state == Channel::State::closed) return true;
  return c.sent >= goal.number && (!c.oldest || c.oldest->number > goal.number) && (!remote || c.acked >= goal.number);
}

// Flush, or unlock: for all of these targets at the same time.
Fault Sender::settle(std::span<Goal> goals, bool unlock, bool remote) {
  for (Goal& g : goals) {
    if (Channel* c = in_use(g.rank)) {
      g.counted = true;
      ++c->settling;
    }
  }
  for (const Goal& g : goals) {
    if (Channel* c = in_use(g.rank)) lead_out(*c, unlock);
  }
  for (Goal& g : goals) {
    Channel* c = in_use(g.rank);
    if (!c) continue;
    w_.wait_until({WaitFor::What::operations, c->rank}, [&] {
      pump(*c);  // a post may have come through shared memory
      // A rider that is all there is needs no more than its own answer.
      const bool alone = c->rider != 0 && !c->head && !(unlock && c->locks);
      return alone || (c->state != Channel::State::asked && c->state != Channel::State::unposted);
    });
    const adi::Device::Together together(w_.device(), c->to);
    drain(*c, g, unlock, remote);
    g.draining = true;
    ++c->draining;
  }
  Fault first = Fault::none;
  for (const Goal& g : goals) {
    Channel* c = channels_[static_cast<std::size_t>(g.rank)].get();
    if (!c) continue;
    if (g.draining) {
      w_.wait_until({WaitFor::What::operations, c->rank}, [&] {
        drain(*c, g, unlock, remote);
        const bool still_holds = unlock && c->locks && c->state == Channel::State::open;
        return !still_holds && is_settled(*c, g, remote);
      });
      --c->draining;
    }
    if (g.counted) --c->settling;
    const Fault f = take_fault(*c);
    if (first == Fault::none) first = f;
    if (unlock) close(*c);
  }
  return first;
}

void Sender::close(Channel& c) {
  c.state = Channel::State::closed;
  c.rider = 0;
  c.locks = c.urgent = false;
  if (!c.busy) return;
  c.busy = false;
  std::erase(busy_, c.rank);
}

void Sender::finish_all() {
  for (const auto& c : channels_) {
    if (c) w_.wait_until({WaitFor::What::operations, c->rank}, [&] { return c->asks == 0 && !c->oldest; });
  }
}

Sender::~Sender() {
  for (const auto& c : channels_) {
    if (c) release_types(*c, UINT64_MAX);
  }
}

bool Sender::peer_lost(int rank) {
  auto& c = channels_[static_cast<std::size_t>(rank)];
  if (!c) return false;
  const bool under_way = c->head != nullptr || c->oldest != nullptr || c->acked != c->sent;
  abandon(*c, Fault::peer_lost);
  return under_way;
}

// Nothing more comes from this target: all that is queued or under way ends.
void Sender::abandon(Channel& c, Fault fault) {
  note_fault(c.rank, fault, c.culprit);
  c.state = Channel::State::closed;
  c.rider = 0;
  Op* op = std::exchange(c.head, nullptr);
  c.tail = nullptr;
  c.sent += std::exchange(c.queued, 0);
  c.queued_bytes = 0;
  while (op) {
    Op* next = op->next;
    op->fault = fault;
    if (op->number == 0) op->pending = 1;
    if (Request* carrier = std::exchange(op->carrier, nullptr)) w_.device().MPID_Complete(carrier, Errc::ok);
    part_done(op);
    op = next;
  }
  w_.domain.drop_tickets(*this, c.rank, fault);
  release_types(c, UINT64_MAX);
  c.asks = 0;
  c.acked = c.asked_to = c.sent;
  c.settled = c.asked_position = c.position;
}

void Sender::close_synchronised(Channel& c) {
  c.acked = c.asked_to = c.sent;
  close(c);
}

Fault Sender::take_fault(Channel& c) {
  const Fault fault = c.fault;
  if (fault == Fault::peer_lost) {
    const int holder = c.culprit == kNoRank ? -1 : w_.member(c.culprit);
    w_.lost_because_of(holder < 0 ? c.rank : holder, holder < 0 ? "" : ", and held the lock of a window");
  }
  c.fault = Fault::none;
  c.culprit = kNoRank;
  return fault;
}

}  // namespace rmq::rma
