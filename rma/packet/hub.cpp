// SPDX-License-Identifier: BSD-3-Clause
#include "rma/packet/hub.hpp"

namespace rmq::rma {

Hub::Hub(adi::Device& device) : device_(device) {
  device.register_extension(Kind::RMA_QUEUE_PUT, Kind::RMA_QUEUE_CREDIT, *this);
  device.register_extension(Kind::AM_SHORT, Kind::AM_CREDIT, *this);
}

Hub::~Hub() {
  device_.unregister_extension(*this);
}

Endpoint* Hub::find(Rank from, const Packet& p) const {
  for (Endpoint* const e : endpoints_) {
    if (e->id_ != p.context || !e->kinds_.contains(p.kind)) continue;
    return p.source >= 0 && p.source < e->size() && e->world(p.source) == from ? e : nullptr;
  }
  return nullptr;
}

// Credit of a queue may come when that is gone here already: nobody waits for it.
void Hub::stray(Rank from, const Packet& p) {
  if (p.kind != Kind::RMA_QUEUE_CREDIT) device_.stray_packet(from, p);
}

void Hub::on_packet(Rank from, const Packet& p, const std::byte* payload) {
  Endpoint* const e = find(from, p);
  if (!e) return stray(from, p);
  if (const char* const wrong = e->arrive(p.source, p, payload)) device_.protocol_error(from, p, wrong);
}

methods::Landing Hub::on_arriving(Rank from, const Packet& p) {
  methods::Landing landing;
  Endpoint* const e = find(from, p);
  if (!e) {
    stray(from, p);
  } else if (const char* const wrong = e->land(p.source, p, landing)) {
    device_.protocol_error(from, p, wrong);
    return {};
  }
  return landing;
}

void Hub::on_landed(Rank from, const Packet& p, const methods::Landing& landing, Errc error) {
  if (landing.owner) {  // of land_apart()
    if (error == Errc::ok) on_packet(from, p, landing.owner->owned);
    device_.MPID_Request_free(landing.owner);
    return;
  }
  if (landing.bytes != p.length) return;  // it was not to land anywhere
  if (Endpoint* const e = find(from, p)) e->landed(p.source, p, error == Errc::ok);
}

}  // namespace rmq::rma
