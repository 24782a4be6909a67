// SPDX-License-Identifier: BSD-3-Clause
#include "methods/inproc.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "methods/inproc_state.hpp"

namespace rmq::methods {

InprocRules InprocRules::drawn(std::uint64_t seed) {
  Chance c(seed ^ 0x496e50726f63u);
  InprocRules r;
  r.seed = seed;
  r.eager_max = c.pick<std::size_t>({0, 24, 32, 100, 1024, 4096, 16384});
  r.fragment_max = c.pick<std::size_t>({64, 333, 1024, 4096, 65536});
  r.link_frames = c.pick<std::size_t>({1, 2, 7, 64, 256});
  r.latency_ns = c.pick<std::uint64_t>({0, 300, 3000, 30000});
  r.burst = c.pick({0, 1, 3, 16});
  r.retry = c.pick({0, 50, 400});
  r.queued = c.pick({0, 200, 600, 1000});
  r.pieces = c.pick({0, 200, 1000});
  r.no_expose = c.pick({0, 300, 1000});
  r.expose_layouts = c.in(500);
  r.told_late = c.pick({0, 300, 1000});
  r.room_told_late = c.pick({-1, 0, 700});
  return r;
}

InprocWorld::InprocWorld(int ranks, const InprocRules& rules) : rules_(rules), chance_(rules.seed) {
  RMQ_CHECK(ranks > 0 && rules.fragment_max > 0 && rules.link_frames > 0);
  for (Rank r = 0; r < ranks; ++r) {
    endpoints_.push_back(std::make_unique<Endpoint>());
    endpoints_.back()->rank = r;
  }
}

InprocWorld::~InprocWorld() = default;

void InprocWorld::note(Log what, Rank a, Rank b, std::uint64_t x, std::uint64_t y) {
  const std::uint64_t words[] = {
      static_cast<std::uint64_t>(what), static_cast<std::uint64_t>(a), static_cast<std::uint64_t>(b), x, y, now_};
  for (std::uint64_t w : words) {  // FNV-1a over words; the shift lets high bits reach low ones
    hash_ = (hash_ ^ w) * 0x100000001b3u;
    hash_ ^= hash_ >> 29;
  }
  ++events_;
}

InprocWorld::Link& InprocWorld::link(Rank from, Rank to) {
  Endpoint& sender = *endpoints_[static_cast<std::size_t>(from)];
  const auto [it, fresh] = sender.out_by_rank.try_emplace(to, nullptr);
  if (fresh) {
    Endpoint& receiver = *endpoints_[static_cast<std::size_t>(to)];
    receiver.in.push_back(std::make_unique<Link>());
    it->second = receiver.in.back().get();
    it->second->from = from;
    it->second->to = to;
    sender.out.push_back(it->second);
  }
  return *it->second;
}

std::uint64_t InprocWorld::travel() {
  return now_ + (rules_.latency_ns == 0 ? 0 : chance_.below(rules_.latency_ns + 1));
}

Outcome InprocWorld::send(Rank from, Rank to, const Packet& packet, const Payload& payload, Request* owner) {
  RMQ_CHECK(packet.length == payload.bytes);
  RMQ_CHECK(payload.bytes <= std::max(rules_.eager_max, rules_.fragment_max));
  Endpoint& me = *endpoints_[static_cast<std::size_t>(from)];
  if (me.dead || me.lost.contains(to)) return Outcome::failed;
  if (endpoints_[static_cast<std::size_t>(to)]->closed) return Outcome::done;  // nobody is there to take it
  Link& l = link(from, to);
  if (l.frames.size() >= rules_.link_frames || chance_.in(rules_.retry)) {
    note(Log::refused, from, to, static_cast<std::uint64_t>(packet.kind), packet.length);
    if (rules_.room_told_late >= 0 && !std::ranges::count(me.refused, to)) me.refused.push_back(to);
    return Outcome::retry;
  }
  l.frames.emplace_back();
  Frame& f = l.frames.back();
  f.packet = packet;
  f.packet.link = ++l.numbered;
  f.data.resize(payload.bytes);
  l.due = std::max(l.due, travel());
  f.due = l.due;
  f.in_pieces = payload.bytes > 0 && chance_.in(rules_.pieces);
  ++under_way_;
  const bool later = owner != nullptr && payload.bytes > 0 && chance_.in(rules_.queued);
  note(Log::sent, from, to, static_cast<std::uint64_t>(packet.kind), (std::uint64_t{packet.length} << 1) | later);
  if (later) {
    f.payload = payload;
    f.owner = owner;
    ++l.departing;
    ++me.departing;
    return Outcome::queued;
  }
  if (payload.bytes > 0) pack(f.data.data(), payload.view, payload.offset, payload.bytes);
  f.departed = payload.bytes;
  if (owner == nullptr || !chance_.in(rules_.told_late)) return Outcome::done;
  tell_later(me, to, owner);
  return Outcome::queued;
}

int InprocWorld::tell_of_room(Endpoint& at) {
  int told = 0;
  for (std::size_t i = at.refused.size(); i-- > 0;) {
    const Rank to = at.refused[i];
    if (link(at.rank, to).frames.size() >= rules_.link_frames || chance_.in(rules_.room_told_late)) continue;
    at.refused.erase(at.refused.begin() + static_cast<std::ptrdiff_t>(i));
    if (at.sink->on_room != nullptr) at.sink->on_room(at.sink->device, to);
    ++told;
  }
  return told;
}

// Later than an answer may come.
void InprocWorld::tell_later(Endpoint& at, Rank to, Request* owner) {
  const std::uint64_t longest = 4 * rules_.latency_ns + 256 * rules_.poll_ns * endpoints_.size();
  at.untold.push_back({to, owner, now_ + chance_.below(longest + 1)});
  ++under_way_;
}

bool InprocWorld::tell_if_due(Endpoint& at, std::size_t index) {
  const Untold told = at.untold[index];
  if (told.due > now_) return false;
  at.untold.erase(at.untold.begin() + static_cast<std::ptrdiff_t>(index));
  --under_way_;
  note(Log::told, at.rank, told.to, 0, 0);
  at.sink->on_sent(at.sink->device, told.owner, Errc::ok);
  return true;
}

// Lets some more bytes of the first frame that is still leaving go out. In order, as on a stream.
bool InprocWorld::depart(Endpoint& at, Link& l) {
  if (l.departing == 0) return false;
  const auto f = std::find_if(l.frames.begin(), l.frames.end(), [](const Frame& x) { return x.owner != nullptr; });
  RMQ_CHECK(f != l.frames.end());
  const std::uint64_t left = f->data.size() - f->departed;
  const std::uint64_t n = chance_.between(1, left);
  pack(f->data.data() + f->departed, f->payload.view, f->payload.offset + f->departed, n);
  f->departed += n;
  note(Log::departed, l.from, l.to, f->packet.link, f->departed);
  if (f->departed == f->data.size()) {
    Request* owner = std::exchange(f->owner, nullptr);
    --l.departing;
    --at.departing;
    if (chance_.in(rules_.told_late))
      tell_later(at, l.to, owner);
    else
      at.sink->on_sent(at.sink->device, owner, Errc::ok);
  }
  return true;
}

void InprocWorld::took_first(Link& l) {
  l.frames.pop_front();
  --under_way_;
  if (l.ending) --l.keep;
}

// Takes in the link's first frame as far as it has come.
bool InprocWorld::deliver(Endpoint& at, Link& l) {
  Frame& f = l.frames.front();
  const Sink& up = *at.sink;
  if (!f.in_pieces) {
    const Frame whole = std::move(f);  // the upcall may send, and so add frames
    took_first(l);
    note(Log::delivered, l.from, l.to, whole.packet.link, whole.packet.length);
    up.on_packet[static_cast<std::uint8_t>(whole.packet.kind)](up.device, l.from, whole.packet, whole.data.data());
    return true;
  }
  if (!l.arriving) {
    l.arriving = true;
    l.announced = f.packet;
    note(Log::arriving, l.from, l.to, f.packet.link, f.packet.length);
    l.landing = up.on_arriving(up.device, l.from, f.packet);
    RMQ_CHECK(l.landing.bytes <= f.packet.length);
    return true;
  }
  Frame& first = l.frames.front();
  const std::uint64_t n = chance_.between(1, first.departed - first.landed);
  if (first.landed < l.landing.bytes) {
    const std::uint64_t wanted = std::min(n, l.landing.bytes - first.landed);
    unpack(l.landing.into, l.landing.offset + first.landed, first.data.data() + first.landed, wanted);
  }
  first.landed += n;
  if (first.landed < first.data.size()) return true;
  const Frame whole = std::move(first);
  const Landing landing = std::exchange(l.landing, Landing{});
  l.arriving = false;
  took_first(l);
  note(Log::landed, l.from, l.to, whole.packet.link, landing.bytes);
  up.on_landed(up.device, l.from, whole.packet, landing, Errc::ok);
  return true;
}

Outcome InprocWorld::transfer(Rank at, Rank peer, std::uint64_t address, const DataView& local, std::uint64_t bytes,
                              bool is_get, Request* owner) {
  Endpoint& me = *endpoints_[static_cast<std::size_t>(at)];
  if (me.dead || me.lost.contains(peer)) return Outcome::failed;
  RMQ_CHECK(bytes <= local.bytes);
  const Exposure none;
  const Exposure& e = address != 0 && address <= exposures_.size() ? exposures_[address - 1] : none;
  if (e.owner != peer || e.peer != at || bytes > e.view.bytes) {
    drop(at, peer, {Errc::protocol, fmt::format("rank {} gave an address of nothing that it has exposed", peer)});
    return Outcome::failed;
  }
  if (chance_.in(rules_.retry)) return Outcome::retry;
  if (endpoints_[static_cast<std::size_t>(peer)]->dead) {
    // Its memory may be gone already; the loss will be reported when its time has come.
    if (owner == nullptr) return Outcome::retry;
  } else if (owner == nullptr || !chance_.in(rules_.queued)) {
    is_get ? copy(local, 0, e.view, 0, bytes) : copy(e.view, 0, local, 0, bytes);
    note(Log::moved, at, peer, address, bytes);
    return Outcome::done;
  }
  me.transfers.push_back({peer, e.view, local, bytes, 0, travel(), is_get, owner});
  ++under_way_;
  return Outcome::queued;
}

bool InprocWorld::advance(Endpoint& at, std::size_t index) {
  Transfer& t = at.transfers[index];
  if (t.due > now_ || endpoints_[static_cast<std::size_t>(t.peer)]->dead) return false;
  const std::uint64_t n = t.bytes == t.moved ? 0 : chance_.between(1, t.bytes - t.moved);
  t.is_get ? copy(t.local, t.moved, t.remote, t.moved, n) : copy(t.remote, t.moved, t.local, t.moved, n);
  t.moved += n;
  note(Log::moved, at.rank, t.peer, t.moved, t.bytes);
  if (t.moved < t.bytes) return true;
  const Transfer done = t;
  at.transfers.erase(at.transfers.begin() + static_cast<std::ptrdiff_t>(index));
  --under_way_;
  at.sink->on_moved(at.sink->device, done.owner, done.moved, Errc::ok);
  return true;
}

int InprocWorld::poll(Rank rank) {
  Endpoint& me = *endpoints_[static_cast<std::size_t>(rank)];
  if (me.dead) return 0;
  now_ += rules_.poll_ns;
  int happened = 0;
  for (std::size_t i = 0; me.departing > 0 && i < me.out.size(); ++i) happened += depart(me, *me.out[i]);
  for (std::size_t i = me.transfers.size(); i-- > 0;) happened += advance(me, i);
  for (std::size_t i = me.untold.size(); i-- > 0;) happened += tell_if_due(me, i);

  int budget = rules_.burst == 0 ? -1 : static_cast<int>(chance_.between(1, static_cast<std::uint64_t>(rules_.burst)));
  std::vector<Link*>& ready = me.ready;
  while (budget != 0) {
    ready.clear();
    for (const auto& l : me.in) {
      if (l->can_deliver(now_)) ready.push_back(l.get());
    }
    if (ready.empty()) break;
    // Without a burst limit the links take turns in order of first use; with one, chance picks.
    if (budget > 0) std::swap(ready[0], ready[chance_.below(ready.size())]);
    const std::size_t take = budget > 0 ? 1 : ready.size();
    for (std::size_t i = 0; i < take; ++i) happened += deliver(me, *ready[i]);
    if (budget > 0) --budget;
  }
  happened += tell_of_room(me);
  for (std::size_t i = 0; me.mourning && i < me.in.size(); ++i) happened += lose_if_due(me, *me.in[i]);
  return happened;
}

bool InprocWorld::drained(Rank rank) const {
  const Endpoint& me = *endpoints_[static_cast<std::size_t>(rank)];
  return me.departing == 0 && me.transfers.empty() && me.untold.empty();
}

}  // namespace rmq::methods
