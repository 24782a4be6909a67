// SPDX-License-Identifier: BSD-3-Clause
#include "rma/core/tickets.hpp"

#include "base/error.hpp"

namespace rmq::rma {

std::uint32_t Tickets::take(Channel& channel, Rank to, Op* op, std::uint64_t number, std::uint64_t position) {
  if (free_.empty()) {
    RMQ_CHECK(has_one());
    free_.push_back(static_cast<std::uint32_t>(all_.size()));
    all_.emplace_back();
  }
  const std::uint32_t at = free_.back();
  free_.pop_back();
  Ticket& t = all_[at];
  t = Ticket{&channel, op, number, position, to, static_cast<std::uint8_t>(t.generation + 1)};
  return (at + 1) << 8 | t.generation;
}

const Ticket* Tickets::find(std::uint32_t wire, Rank from) const {
  if (index(wire) >= all_.size()) return nullptr;
  const Ticket& t = all_[index(wire)];
  return t.channel && t.generation == (wire & 0xff) && t.to == from ? &t : nullptr;
}

bool Tickets::is_orphan(std::uint32_t wire) const {
  return index(wire) < all_.size() && all_[index(wire)].orphan;
}

Ticket Tickets::free(std::uint32_t wire) {
  Ticket& t = all_[index(wire)];
  const Ticket was = t;
  t.channel = nullptr;
  free_.push_back(static_cast<std::uint32_t>(index(wire)));
  return was;
}

Channel* Tickets::next_to_feed() {
  if (starved_.empty() || !has_one()) return nullptr;
  Channel* const channel = starved_.back();
  starved_.pop_back();
  return channel;
}

}  // namespace rmq::rma
