// SPDX-License-Identifier: BSD-3-Clause
// The channels, and the queues of what could not be sent yet. Credit is in adi/credit.cpp.
//
// Three queues a channel: `packets`, in order, which need no credit (the protocols' own and those of the floors above;
// all later ones wait behind one that the link refuses), `messages`, in order, and `bulk`, data of rendezvous, in
// turns.
#include "adi/channels.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

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
  const bool copied = r.owned || (r.waiting.owner && r.waiting.owner->owned);
  return sizeof(Request) + (copied ? r.waiting.bytes : 0);
}

}  // namespace

bool RequestList::remove(Request* r) {
  Request* before = nullptr;
  for (Request* at = head_; at; before = at, at = at->next) {
    if (at != r) continue;
    (before ? before->next : head_) = r->next;
    if (tail_ == r) tail_ = before;
    r->next = nullptr;
    --size_;
    return true;
  }
  return false;
}

Channels::Channels(int size, Rank me, const std::vector<std::unique_ptr<methods::Method>>& methods, RequestPool& pool,
                   Trace& trace, Gate& gate, Counters& counters, const methods::Sink& sink)
    : near_(std::make_unique<Channel*[]>(kNear)),
      size_(static_cast<std::size_t>(size)),
      methods_(methods),
      me_(me),
      ours_(static_cast<std::size_t>(size)),
      pool_(pool),
      trace_(trace),
      gate_(gate),
      counters_(counters),
      sink_(sink) {}

// ---- the table ----

// Where the rank is in far_, or would be. A multiplication spreads ranks that lie at distances of powers of two.
std::size_t Channels::place(Rank r) const {
  const std::size_t mask = far_.size() - 1;
  std::size_t at = (static_cast<std::uint32_t>(r) * std::size_t{0x9e3779b97f4a7c15u}) >> 32 & mask;
  while (far_[at] && far_[at]->rank != r) at = (at + 1) & mask;
  return at;
}

const Channel* Channels::find(Rank r) const {
  const auto i = static_cast<std::size_t>(r);
  if (i < kNear) return near_[i];
  return far_.empty() ? nullptr : far_[place(r)];
}

Channel& Channels::far(Rank r) {
  if (const Channel* const found = find(r)) return const_cast<Channel&>(*found);
  return make(r);
}

[[gnu::cold]] Channel& Channels::make(Rank r) {
  RMQ_CHECK(static_cast<std::size_t>(r) < size_);
  Channel& c = all_.emplace_back();
  c.rank = r;
  if (connected_) equip(c);
  if (static_cast<std::size_t>(r) < kNear) {
    near_[static_cast<std::size_t>(r)] = &c;
    return c;
  }
  if (2 * (in_far_ + 1) > far_.size()) {
    const std::vector<Channel*> before =
        std::exchange(far_, std::vector<Channel*>(std::max<std::size_t>(16, 2 * far_.size())));
    for (Channel* const old : before)
      if (old) far_[place(old->rank)] = old;
  }
  ++in_far_;
  return *(far_[place(r)] = &c);
}

// The first method that reaches the rank, and credit.
void Channels::equip(Channel& c) {
  const bool ours = static_cast<std::size_t>(c.rank) < ours_;
  c.allotment = ours ? static_cast<std::uint32_t>(per_peer_) : foreign_credit(c.rank);
  if (c.rank == me_) {
    c.id = methods::MethodId::self;
    return;
  }
  if (c.allotment == 0) {  // dismissed before it was ever used
    c.lost = true;
    return;
  }
  const auto m = std::ranges::find_if(methods_, [&](const auto& method) { return method->reaches(c.rank); });
  RMQ_CHECK(m != methods_.end());
  c.method = m->get();
  c.id = c.method->id();
  c.credit = c.allotment;
  const std::size_t own = c.method->eager_max(c.rank);
  const std::size_t wanted = eager_max_ ? static_cast<std::size_t>(eager_max_) : own;
  // No message costs more than a quarter of the credit: the proof above rests on it.
  const std::size_t affordable = static_cast<std::size_t>(c.allotment / 4) - kMessageRecord;
  c.eager_max = static_cast<std::uint32_t>(std::min({own, wanted, affordable}));
}

void Channels::size_credit(std::uint64_t unexpected_max, std::uint64_t envelopes_max) {
  // At least what a few messages need, whatever the number of peers; at most what one peer can use.
  constexpr std::uint64_t kLeast = 64 * 1024, kMost = 16 * 1024 * 1024;
  const std::uint64_t others = std::max<std::uint64_t>(ours_ - 1, 1);
  least_ = per_peer_ = std::clamp<std::uint64_t>(unexpected_max / others, kLeast, kMost);
  envelopes_left_ = envelopes_max;
}

void Channels::connect(std::uint64_t eager_max) {
  trace_.event(Event::credit, 0, kNoRank, 0, per_peer_);  // what each of them begins with
  eager_max_ = eager_max;
  connected_ = true;
  for (Channel& c : all_) equip(c);
}

Rank Channels::admit(std::size_t count, std::uint64_t credit) {
  const auto first = static_cast<Rank>(size_);
  size_ += count;
  foreign_.resize(size_ - ours_, static_cast<std::uint32_t>(credit));
  foreign_credit_ += count * credit;
  least_ = std::min(least_, credit);
  return first;
}

void Channels::readmit(Rank r, std::uint64_t credit) {
  foreign_credit(r) = static_cast<std::uint32_t>(credit);
  foreign_credit_ += credit;
  least_ = std::min(least_, credit);
  Channel& c = (*this)[r];
  c.lost = c.dropped = false;
  c.error = {};
  equip(c);
}

void Channels::dismiss(Rank r) {
  foreign_credit_ -= foreign_credit(r);
  foreign_credit(r) = 0;
  Channel* const c = const_cast<Channel*>(find(r));
  if (c == nullptr) return;
  lose(*c);
  c->method = nullptr;
  c->id = methods::MethodId::none;
  c->lost = true;
  c->owed = c->envelopes = 0;
  c->eager_max = 0;
  c->error = {Errc::peer_lost, fmt::format("process {} has been disconnected from", r)};
}

// ---- sending ----

Outcome Channels::send(Channel& c, Packet& p, const Payload& payload, Request* owner) {
  p.credit = c.owed;
  const Outcome o = with_method(*c.method, c.id, [&](auto& m) { return m.send(c.rank, p, payload, owner); });
  if (o == Outcome::done || o == Outcome::queued) [[likely]] {
    c.owed = 0;
    ++counters_.sent;
    trace_.packet(Event::packet_sent, c.method_number(), c.rank, p, payload.bytes);
  } else {
    c.refused = true;
  }
  return o;
}

void Channels::post(Channel& c, Packet& p, const Payload& payload, Request* owner) {
  const auto left = [&](Errc error) {
    if (owner) sink_.on_sent(sink_.device, owner, error);
  };
  if (c.lost) return left(Errc::peer_lost);
  p.length = static_cast<std::uint32_t>(payload.bytes);
  if (c.packets.empty()) [[likely]] {
    const Outcome o = send(c, p, payload, owner);
    if (o == Outcome::queued) return;
    if (o != Outcome::retry) return left(o == Outcome::done ? Errc::ok : Errc::peer_lost);
  }
  Request* r = pool_.get();
  r->kind = RequestKind::control;
  r->packet = p;
  r->view = payload.view;
  r->waiting = {payload.bytes, payload.offset, owner};
  if (!owner && payload.bytes > 0) {
    r->owned = static_cast<std::byte*>(std::malloc(payload.bytes));
    RMQ_CHECK(r->owned != nullptr);
    r->owned_bytes = payload.bytes;
    pack(r->owned, payload.view, payload.offset, payload.bytes);
    r->view = DataView::contiguous(r->owned, payload.bytes);
    r->waiting.offset = 0;
  }
  c.packets.push_back(r);
  c.answer_bytes += answer_bytes(*r);
  trace_.packet(Event::pending, c.method_number(), c.rank, p, static_cast<std::uint64_t>(Hindrance::link_full),
                c.packets.size());
  schedule(c);
}

void Channels::enqueue(Channel& c, Request* message, Hindrance why) {
  if (why == Hindrance::link_full && c.credit < kMessageRecord) why = Hindrance::no_credit;
  message->go(Step::queued);
  c.messages.push_back(message);
  ++counters_.pending;
  trace_.packet(Event::pending, c.method_number(), c.rank, message->packet, static_cast<std::uint64_t>(why),
                c.messages.size());
  schedule(c);
}

void Channels::schedule(Channel& c) {
  if (c.scheduled || c.stuck) return;
  c.scheduled = true;
  due_.push_back(&c);
  gate_.rouse();
}

void Channels::drained(Channel& c) {
  c.scheduled = false;
  c.stuck = c.waits();
  stuck_ += c.stuck;
}

void Channels::unstick(Channel& c) {
  if (!c.stuck) return;
  c.stuck = false;
  --stuck_;
  schedule(c);
}

int Channels::drain_packets(Channel& c) {
  int n = 0;
  if (c.flow_due) {
    if (try_flow(c) == Outcome::retry) return n;
    c.flow_due = false;
    ++n;
  }
  for (; !c.packets.empty(); ++n) {
    Request* r = c.packets.front();
    Request* const owner = r->waiting.owner;
    const Outcome o = send(c, r->packet, Payload{r->view, r->waiting.offset, r->waiting.bytes}, owner);
    if (o == Outcome::retry) return n;
    c.answer_bytes -= answer_bytes(*r);
    pool_.put(c.packets.pop_front());
    if (!owner || o == Outcome::queued) continue;
    sink_.on_sent(sink_.device, owner, o == Outcome::done ? Errc::ok : Errc::peer_lost);
  }
  return n;
}

void Channels::lose(Channel& c) {
  unstick(c);
  c.flow_due = false;
  c.credit = 0;
  envelopes_left_ += c.envelopes_out;
  c.envelopes = c.envelopes_out = c.envelopes_due = 0;
  c.gave_back = c.content = c.asks = false;
  while (!c.messages.empty()) c.messages.pop_front()->go(Step::idle);
  while (!c.bulk.empty()) c.bulk.pop_front();
  while (!c.packets.empty()) {
    Request* r = c.packets.pop_front();
    c.answer_bytes -= answer_bytes(*r);
    Request* const owner = r->waiting.owner;
    pool_.put(r);
    if (owner) sink_.on_sent(sink_.device, owner, Errc::peer_lost);
  }
}

}  // namespace rmq::adi
