// SPDX-License-Identifier: BSD-3-Clause
#include "adi/core.hpp"

#include <utility>

#include "adi/dispatch.hpp"

namespace rmq::adi {

Core::Core(DeviceOptions& options, Bootstrap& bootstrap)
    : gate_(trace_, options.threads),
      channels_(bootstrap.job().size, bootstrap.job().rank, methods_, pool_, trace_, gate_, counters_, sink_),
      rank_(bootstrap.job().rank),
      simulation_(options.simulation),
      config_(std::move(options.config)),
      bootstrap_(bootstrap),
      makers_(options.methods.empty() ? makers_of(config_) : std::move(options.methods)) {
  sink_.device = this;
}

void Core::gather(Rank to, bool on) {
  Channel& c = channels_[to];
  if (c.method) with_method(*c.method, c.id, [&](auto& m) { m.gather(to, on); });
}

void Core::wake(Rank rank) {
  Channel& c = channels_[rank];
  if (!c.method) {
    if (rank == rank_) gate_.rouse();  // another thread of ours
    return;
  }
  if (with_method(*c.method, c.id, [&](auto& m) { return m.wake(rank); })) return;
  if (rank < size() && job().host_of_rank.same(rank, rank_)) doorbell_->ring(rank);
}

bool Core::is_gone(Rank rank) {
  const Channel& c = channels_[rank];
  return c.lost || (c.method && c.method->gone(rank));
}

// A post is too frequent an event for the flight recorder. What is posted still when the rank has nothing to do, or
// loses a peer, is what it waits for.
void Core::note_unanswered() {
  constexpr int kMost = 8;
  if (!trace_.flew_since_sleep()) return;
  int left = kMost;
  match_.for_each_posted([&](const Request* r) {
    if (left-- > 0)
      trace_.event(Event::unanswered, 0, r->peer, r->match.context, static_cast<std::uint32_t>(r->match.tag));
  });
}

std::uint64_t Core::messages_by(methods::MethodId id) const {
  std::uint64_t n = 0;
  for (const Channel& c : channels_) n += c.id == id ? c.next_msg : 0;
  return n;
}

Core::Levels Core::levels() const {
  Levels l;
  for (const Channel& c : channels_) {
    l.messages += c.messages.size();
    l.packets += c.waiting_packets();
    l.lost += c.lost;
  }
  return l;
}

}  // namespace rmq::adi
