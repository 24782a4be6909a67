#include "rma/tickets.hpp"

#include "base/error.hpp"
#include "rma/channel.hpp"

namespace rmq::rma {

std::uint32_t Tickets::take(Channel& channel, Op* op, std::uint64_t number, std::uint64_t position) {
  if (free_.empty()) {
    RMQ_CHECK(has_one());
    free_.push_back(static_cast<std::uint32_t>(all_.size()));
    all_.emplace_back();
  }
  const std::uint32_t at = free_.back();
  free_.pop_back();
  Ticket& t = all_[at];
  t = Ticket{&channel, op, number, position, static_cast<std::uint8_t>(t.generation + 1)};
  return (at + 1) << 8 | t.generation;
}

const Ticket* Tickets::find(std::uint32_t wire, Rank from) const {
  if (index(wire) >= all_.size()) return nullptr;
  const Ticket& t = all_[index(wire)];
  return t.channel && t.generation == (wire & 0xff) && t.channel->to() == from ? &t : nullptr;
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

void Tickets::feed() {
  while (!starved_.empty() && has_one()) {
    Channel* const channel = starved_.back();
    starved_.pop_back();
    channel->fed();
  }
}

void Tickets::drop(const Channel& channel, Fault fault) {
  for (std::size_t i = 0; i < all_.size(); ++i) {
    const Ticket t = all_[i];
    if (t.channel != &channel) continue;
    if (t.op)
      t.channel->answered(t.op, fault);
    else
      free((static_cast<std::uint32_t>(i) + 1) << 8 | t.generation);
  }
}

void Tickets::orphan(const WindowCore& window) {
  for (Ticket& t : all_) {  // none, unless it ends early
    if (!t.channel || !t.channel->is_of(window)) continue;
    t.channel = nullptr;
    t.orphan = true;
  }
  std::erase_if(starved_, [&](const Channel* c) { return c->is_of(window); });
}

}  // namespace rmq::rma
