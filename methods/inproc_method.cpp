// SPDX-License-Identifier: BSD-3-Clause
// InprocMethod: an endpoint's face, its opening and its orderly end.
#include <algorithm>
#include <utility>

#include "methods/inproc.hpp"
#include "methods/inproc_state.hpp"

namespace rmq::methods {

std::unique_ptr<Method> InprocWorld::open(const MethodContext& context) {
  const auto rank = static_cast<Rank>(context.bootstrap.job().rank);
  RMQ_CHECK(rank >= 0 && static_cast<std::size_t>(rank) < endpoints_.size());
  Endpoint& me = *endpoints_[static_cast<std::size_t>(rank)];
  RMQ_CHECK(me.sink == nullptr && !me.closed && !me.dead);
  me.sink = &context.sink;
  return std::make_unique<InprocMethod>(*this, rank);
}

InprocMethod::~InprocMethod() {
  InprocWorld::Endpoint& me = *world_.endpoints_[static_cast<std::size_t>(rank_)];
  me.closed = true;
  me.sink = nullptr;
  for (const auto& l : me.in) {
    if (l->departing > 0) continue;  // senders are still to be told; nobody takes the frames in
    world_.under_way_ -= l->frames.size();
    l->frames.clear();
  }
  // What is still leaving will never be told, but must not be read from memory that goes away.
  for (InprocWorld::Link* l : me.out) {
    while (l->departing > 0) {
      l->departing -= l->frames.back().owner != nullptr;
      l->frames.pop_back();
      --world_.under_way_;
    }
  }
  world_.under_way_ -= me.transfers.size();
  me.transfers.clear();
  world_.under_way_ -= me.untold.size();
  me.untold.clear();
  me.departing = 0;
}

bool InprocMethod::reaches(Rank rank) const {
  return rank >= 0 && static_cast<std::size_t>(rank) < world_.endpoints_.size();
}

int InprocMethod::reached() const {
  return static_cast<int>(world_.endpoints_.size()) - 1;
}

Outcome InprocMethod::send(Rank to, const Packet& packet, const Payload& payload, Request* owner) {
  return world_.send(rank_, to, packet, payload, owner);
}

int InprocMethod::poll() {
  return world_.poll(rank_);
}

std::uint64_t InprocMethod::expose(Rank peer, const DataView& view) {
  InprocWorld& w = world_;
  if (!view.is_contiguous() && !w.rules_.expose_layouts) return 0;
  if (view.bytes == 0 || w.chance_.in(w.rules_.no_expose)) return 0;
  w.exposures_.push_back({rank_, peer, view});
  w.note(InprocWorld::Log::exposed, rank_, peer, view.bytes, w.exposures_.size());
  return w.exposures_.size();
}

Outcome InprocMethod::get(Rank from, std::uint64_t address, const DataView& into, std::uint64_t bytes, Request* owner) {
  return world_.transfer(rank_, from, address, into, bytes, true, owner);
}

Outcome InprocMethod::put(Rank to, std::uint64_t address, const DataView& data, std::uint64_t bytes, Request* owner) {
  return world_.transfer(rank_, to, address, data, bytes, false, owner);
}

void* InprocMethod::mem_alloc(std::size_t bytes) {
  return world_.rules_.shared_memory ? shared_.alloc(bytes) : nullptr;
}

void InprocMethod::drop(Rank rank, const Error& why) {
  world_.drop(rank_, rank, why);
}

bool InprocMethod::drained() const {
  return world_.drained(rank_);
}

void InprocMethod::close() {
  InprocWorld::Endpoint& me = *world_.endpoints_[static_cast<std::size_t>(rank_)];
  if (me.dead || me.closed) return;
  for (std::size_t i = 0; i < me.out.size(); ++i) {
    while (world_.depart(me, *me.out[i])) {
    }
  }
  while (!me.untold.empty()) {
    Request* owner = me.untold.back().owner;
    me.untold.pop_back();
    --world_.under_way_;
    me.sink->on_sent(me.sink->device, owner, Errc::ok);
  }
  me.closed = true;
}

}  // namespace rmq::methods
