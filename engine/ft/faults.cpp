// SPDX-License-Identifier: BSD-3-Clause
#include "engine/ft/faults.hpp"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace rmq::mpi::ft {
namespace {

// Packets for communicators that are being made: more come from no rank of ours.
constexpr std::size_t kMostEarly = 4096;

}  // namespace

Faults::Faults(adi::Device& device) : device_(device) {
  device.register_extension(rmq::Kind::FT_REVOKE, rmq::Kind::FT_COMMIT, *this);
}

Faults::~Faults() {
  device_.unregister_extension(*this);
}

// ---- circles ----

std::shared_ptr<Circle> Faults::make(std::uint32_t context, Members members) {
  auto circle = std::make_shared<Circle>(device_, context, std::move(members));
  circle->refuse_in_group = refuse_in_group;
  for (const Rank r : dead_) circle->on_death(r);
  circles_.push_back(circle);
  return circle;
}

void Faults::begin(Circle& circle) {
  std::vector<Early> mine;
  std::erase_if(early_, [&](Early& e) {
    const bool is = e.packet.context == circle.context() && circle.members().place_of(e.from) >= 0;
    if (is) mine.push_back(std::move(e));
    return is;
  });
  for (const Early& e : mine) on_packet(e.from, e.packet, e.payload.data());
}

void Faults::end(const std::shared_ptr<Circle>& circle) {
  circle->end_messages = nullptr;
  circle->leave();
  settle();
}

// Others may have voted among its makings, which this process has never had: its contexts are used again.
void Faults::forget(const std::shared_ptr<Circle>& circle) {
  std::erase_if(early_, [&](const Early& e) {
    const bool is_its = e.packet.context == circle->context() || e.packet.context == circle->context() + 1;
    return is_its && circle->members().place_of(e.from) >= 0;
  });
  std::erase_if(circles_, [&](const auto& one) { return one == circle || one.get() == circle->makings(); });
}

void Faults::refuse_once(const std::shared_ptr<Circle>& circle) {
  circle->end_messages = nullptr;
  circle->refuse_once();
}

// Who may leave does so, and those that are over retire.
void Faults::settle() {
  std::vector<std::shared_ptr<Circle>> over;
  for (const auto& circle : circles_) {
    if (circle->is_to_leave()) circle->leave();
    if (circle->is_over()) over.push_back(circle);
  }
  for (const auto& circle : over) {
    forget(circle);
    if (circle->on_over) circle->on_over();
  }
}

// Circles of a context that have a member in common are one.
Circle* Faults::find(std::uint32_t context, Rank from, int& place) {
  for (const auto& circle : circles_)
    if (circle->context() == context && (place = circle->members().place_of(from)) >= 0) return circle.get();
  Circle* const made = look_up ? look_up(context, from) : nullptr;
  if (made) place = made->members().place_of(from);
  return made;
}

// ---- upcalls of the device ----

void Faults::on_packet(Rank from, const Packet& p, const std::byte* payload) {
  int place = -1;
  Circle* const circle = find(p.context, from, place);
  if (circle == nullptr) {
    if (early_.size() == kMostEarly) return device_.protocol_error(from, p, "too much comes for no communicator");
    early_.push_back({from, p, {}});
    if (p.length > 0) early_.back().payload.assign(payload, payload + p.length);
  } else if (!circle->on_packet(place, p, payload)) {
    device_.protocol_error(from, p, "it is no part of an agreement");
  } else {
    settle();
  }
}

methods::Landing Faults::on_arriving(Rank, const Packet& p) {
  Request* const buffer = device_.MPID_Request_create(RequestKind::other);
  buffer->owned = static_cast<std::byte*>(std::malloc(std::max<std::size_t>(p.length, 1)));
  RMQ_CHECK(buffer->owned != nullptr);
  buffer->owned_bytes = p.length;
  return {DataView::contiguous(buffer->owned, p.length), 0, p.length, buffer};
}

void Faults::on_landed(Rank from, const Packet& p, const methods::Landing& landing, Errc error) {
  if (error == Errc::ok) on_packet(from, p, landing.owner->owned);
  device_.MPID_Request_free(landing.owner);
}

void Faults::on_peer_dead(Rank rank) {
  dead_.push_back(rank);
  const auto circles = circles_;  // an upcall may make or end one
  for (const auto& circle : circles) circle->on_death(rank);
  settle();
}

}  // namespace rmq::mpi::ft
