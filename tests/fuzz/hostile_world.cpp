// SPDX-License-Identifier: BSD-3-Clause
#include "fuzz/hostile_world.hpp"

namespace rmq::testing {

using methods::Outcome;

HostileWorld::HostileWorld(const methods::InprocRules& rules, const std::function<void(Config&)>& adjust)
    : world_(3, rules), bootstraps_(local_bootstraps(3)) {
  for (const Rank rank : {kVictim, kBystander}) {
    adi::DeviceOptions options;
    options.config.wait = "spin";  // one thread polls all: nobody is to give way
    if (adjust) adjust(options.config);
    options.methods = {[this](const methods::MethodContext& c) { return world_.open(c); }};
    auto made = adi::Device::MPID_Init(std::move(options), *bootstraps_[static_cast<std::size_t>(rank)]);
    RMQ_CHECK(made.has_value());
    devices_.push_back(std::move(*made));
  }
  sink_.device = this;
  sink_.on_packet.fill([](void* device, Rank from, const Packet& packet, const std::byte*) {
    if (from == kVictim) static_cast<HostileWorld*>(device)->heard.push_back(packet);
  });
  sink_.on_arriving = [](void* device, Rank, const Packet& packet) {
    auto& w = *static_cast<HostileWorld*>(device);
    w.landing_.resize(packet.length);
    return methods::Landing{DataView::contiguous(w.landing_.data(), packet.length), 0, packet.length, nullptr};
  };
  sink_.on_landed = [](void* device, Rank from, const Packet& packet, const methods::Landing&, Errc) {
    if (from == kVictim) static_cast<HostileWorld*>(device)->heard.push_back(packet);
  };
  sink_.on_sent = [](void*, Request*, Errc) {};
  sink_.on_moved = [](void*, Request*, std::uint64_t, Errc) {};
  sink_.on_peer_lost = [](void* device, Rank rank, const Error&) {
    if (rank == kVictim) static_cast<HostileWorld*>(device)->lost_ = true;
  };
  auto bell = Doorbell::open(bootstraps_[1]->job().job, kHostile);
  RMQ_CHECK(bell.has_value());
  bell_ = std::move(*bell);
  hostile_ = world_.open({config_, *bootstraps_[1], sink_, trace_, *bell_});
}

HostileWorld::~HostileWorld() = default;

bool HostileWorld::send(Packet packet, const std::vector<std::byte>& payload) {
  packet.length = static_cast<std::uint32_t>(payload.size());
  for (;;) {
    switch (hostile_->send(kVictim, packet, {DataView::contiguous(payload.data(), payload.size()), 0, payload.size()},
                           nullptr)) {
      case Outcome::done:
        return true;
      case Outcome::failed:
        return false;
      default:
        if (lost_) return false;
        turn();
    }
  }
}

Packet HostileWorld::last(Kind kind) const {
  for (std::size_t i = heard.size(); i-- > 0;) {
    if (heard[i].kind == kind) return heard[i];
  }
  return Packet();
}

void HostileWorld::turn() {
  hostile_->poll();
  for (auto& d : devices_) d->MPID_Poll(false);
}

void HostileWorld::settle() {
  constexpr int kQuiet = 8, kMost = 1000;  // turns; a refusal is an event too, and may come for ever
  std::uint64_t events = world_.events();
  for (int turns = 0, quiet = 0; quiet < kQuiet && turns < kMost; ++turns) {
    turn();
    quiet = world_.under_way() == 0 && world_.events() == events ? quiet + 1 : 0;
    events = world_.events();
  }
}

Request* HostileWorld::isend(adi::Device& d, Rank to, int tag, std::vector<std::byte>& data, SendMode mode,
                             std::uint32_t context) {
  Request* r = d.MPID_Request_create(RequestKind::send);
  r->peer = to;
  r->match = {context, d.rank(), tag};
  r->view = DataView::contiguous(data.data(), data.size());
  r->mode = mode;
  d.MPID_Isend(r);
  return r;
}

Request* HostileWorld::irecv(adi::Device& d, Rank from, int tag, std::vector<std::byte>& into, std::uint32_t context) {
  Request* r = d.MPID_Request_create(RequestKind::recv);
  r->peer = from == kAnySource ? kNoRank : from;
  r->match = {context, from, tag};
  r->view = DataView::contiguous(into.data(), into.size());
  d.MPID_Irecv(r);
  return r;
}

}  // namespace rmq::testing
