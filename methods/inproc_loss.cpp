// SPDX-License-Identifier: BSD-3-Clause
// The death of a rank in an in-process world, and how its peers learn of it.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "methods/inproc.hpp"
#include "methods/inproc_state.hpp"

namespace rmq::methods {

std::size_t InprocWorld::whole_frames(const Link& l) {
  const auto whole =
      std::find_if(l.frames.begin(), l.frames.end(), [](const Frame& f) { return f.departed < f.data.size(); });
  return static_cast<std::size_t>(whole - l.frames.begin());
}

void InprocWorld::kill(Rank rank) {
  Endpoint& victim = *endpoints_[static_cast<std::size_t>(rank)];
  if (victim.dead) return;
  victim.dead = true;
  under_way_ -= victim.untold.size();
  victim.untold.clear();
  for (const auto& other : endpoints_) {
    if (other->rank == rank || other->dead || other->closed) continue;
    Link& l = link(rank, other->rank);
    const std::size_t keep = chance_.below(whole_frames(l) + 1);
    end_link(l, keep, travel(), {});
  }
}

void InprocWorld::end_link(Link& l, std::size_t keep, std::uint64_t loss_due, std::string why) {
  if (l.ending) return;
  l.ending = true;
  l.keep = keep;
  l.loss_due = loss_due;
  l.why = std::move(why);
  endpoints_[static_cast<std::size_t>(l.to)]->mourning = true;
}

// Both ends lose each other, as when a connection is closed: the dropped one without what is under way.
void InprocWorld::drop(Rank at, Rank from, const Error& why) {
  // What has been sent already comes still: a method may hand up all that it has taken from a link at once.
  Link& in = link(from, at);
  end_link(in, whole_frames(in), now_, why.what);
  end_link(link(at, from), 0, travel(), {});
}

// Tells everyone who waits for the lost rank, then the device.
bool InprocWorld::lose_if_due(Endpoint& at, Link& l) {
  if (!l.ending || l.keep > 0 || l.loss_due > now_ || at.lost.contains(l.from)) return false;
  const Rank gone = l.from;
  at.lost.insert(gone);
  note(Log::lost, at.rank, gone, l.frames.size(), l.arriving);
  const Sink& up = *at.sink;
  if (l.arriving) {
    l.arriving = false;
    up.on_landed(up.device, gone, l.announced, std::exchange(l.landing, Landing{}), Errc::peer_lost);
  }
  under_way_ -= l.frames.size();
  l.frames.clear();
  endpoints_[static_cast<std::size_t>(gone)]->departing -= std::exchange(l.departing, 0);
  if (const auto it = at.out_by_rank.find(gone); it != at.out_by_rank.end()) {
    Link& out = *it->second;
    under_way_ -= out.frames.size();
    const std::deque<Frame> frames = std::exchange(out.frames, {});
    at.departing -= std::exchange(out.departing, 0);
    for (const Frame& f : frames) {
      if (f.owner != nullptr) up.on_sent(up.device, f.owner, Errc::peer_lost);
    }
  }
  for (std::size_t i = at.untold.size(); i-- > 0;) {
    const Untold told = at.untold[i];
    if (told.to != gone) continue;
    at.untold.erase(at.untold.begin() + static_cast<std::ptrdiff_t>(i));
    --under_way_;
    up.on_sent(up.device, told.owner, Errc::peer_lost);
  }
  for (std::size_t i = at.transfers.size(); i-- > 0;) {
    if (at.transfers[i].peer != gone) continue;
    const Transfer t = at.transfers[i];
    at.transfers.erase(at.transfers.begin() + static_cast<std::ptrdiff_t>(i));
    --under_way_;
    up.on_moved(up.device, t.owner, t.moved, Errc::peer_lost);
  }
  at.mourning = std::any_of(at.in.begin(), at.in.end(),
                            [&](const auto& in) { return in->ending && !at.lost.contains(in->from); });
  const Error why = l.why.empty() ? Error{Errc::peer_lost,
                                          fmt::format("rank {} is lost (in-process world, seed {})", gone, rules_.seed)}
                                  : Error{Errc::protocol, l.why};
  up.on_peer_lost(up.device, gone, why);
  return true;
}

}  // namespace rmq::methods
