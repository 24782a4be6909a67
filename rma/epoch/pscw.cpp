// SPDX-License-Identifier: BSD-3-Clause
// Post, start, complete, wait. Posts and completes are counted for each pair of members, on both sides; what travels is
// the count. A complete stands behind the operations that it closes.
#include <algorithm>
#include <atomic>

#include "rma/epoch/active_target.hpp"
#include "rma/origin/signal.hpp"

namespace rmq::rma {

bool ActiveTarget::all_completed() const {
  return std::all_of(exposure_group_.begin(), exposure_group_.end(),
                     [&](int rank) { return core_.has_completed(rank); });
}

Fault ActiveTarget::post(std::span<const int> group, unsigned assertions) {
  if (core_.exposed || core_.in_fence()) return Fault::sync;
  core_.all = 0;  // a fence without operations behind it has opened nothing
  core_.exposed = true;
  exposure_group_.assign(group.begin(), group.end());
  for (const int rank : group) {
    core_.note(Event::win_post, rank, assertions);
    const std::uint32_t count = ++core_.counts[rank].posted;
    if ((assertions & assertion::nocheck) == 0) signal(core_, rank, Signal::post, 0, count);
  }
  return Fault::none;
}

Fault ActiveTarget::start(std::span<const int> group, unsigned assertions) {
  if (core_.accessing || core_.in_lock() || core_.in_fence()) return Fault::sync;
  core_.all = 0;  // a fence without operations behind it has opened nothing
  core_.accessing = true;
  core_.nocheck_start = (assertions & assertion::nocheck) != 0;
  access_group_.assign(group.begin(), group.end());
  for (const int rank : group) {
    core_.note(Event::win_start, rank, assertions);
    ++core_.counts[rank].started;
  }
  return Fault::none;
}

Fault ActiveTarget::admit(int rank) {
  Reach& t = core_.at(rank);
  if (!core_.accessing || std::find(access_group_.begin(), access_group_.end(), rank) == access_group_.end())
    return Fault::sync;
  if (t.direct) {
    core_.wait_until({WaitFor::What::post, rank}, [&] { return core_.has_posted(rank) || core_.is_lost(rank); });
    if (!core_.has_posted(rank)) return core_.lost_because_of(rank, "");
  }
  t.access |= access::start;
  return Fault::none;
}

Fault ActiveTarget::complete() {
  if (!core_.accessing) return Fault::sync;
  for (const int rank : access_group_) core_.note(Event::win_complete, rank);
  const Until until = targets_find_out() ? Until::remote : Until::local;
  std::vector<Completion> all = sender_.completions(until);
  Fault fault = Fault::none;
  // Posts without operations are waited for as well: none is still on its way when the window ends.
  for (const int rank : access_group_) {
    core_.wait_until({WaitFor::What::post, rank}, [&] { return core_.has_posted(rank) || core_.is_lost(rank); });
    if (fault == Fault::none && !core_.has_posted(rank)) fault = core_.lost_because_of(rank, "");
  }
  core_.domain.order();
  std::vector<int> later;  // they read for us, or not all has left: they may go on only when all is done here
  for (const int rank : access_group_) {
    core_.at(rank).access = static_cast<std::uint8_t>(core_.at(rank).access & ~access::start);
    Channel* c = sender_.in_use(rank);
    const adi::Device::Together together(core_.device(), core_.world(rank));
    if (c) {
      c->open();
      drain(c->completion(until));
    }
    if (c && c->stream().is_unfinished())
      later.push_back(rank);
    else
      signal(core_, rank, Signal::complete, 0, core_.counts[rank].started);
  }
  if (const Fault f = sender_.finish(all); fault == Fault::none) fault = f;
  for (const int rank : later) signal(core_, rank, Signal::complete, 0, core_.counts[rank].started);
  for (const Completion& c : all) {
    drain(c);                                   // where the flight was full, the wish for an acknowledgement leaves now
    c.channel->stream().assume_acknowledged();  // the target's wait is what speaks for it
    sender_.close(*c.channel);
  }
  core_.accessing = core_.nocheck_start = false;
  access_group_.clear();
  return fault;
}

Fault ActiveTarget::wait() {
  if (!core_.exposed) return Fault::sync;
  for (const int rank : exposure_group_) core_.note(Event::win_wait, rank);
  core_.wait_until({WaitFor::What::complete}, [&] { return has_ended(); });
  return end_exposure();
}

Fault ActiveTarget::test(bool& done) {
  if (!core_.exposed) return Fault::sync;
  done = has_ended();
  if (!done) {
    core_.poll_for({WaitFor::What::complete});
    done = has_ended();
  }
  return done ? end_exposure() : Fault::none;
}

// Whether all have completed, or one never will.
bool ActiveTarget::has_ended() const {
  return all_completed() || std::ranges::any_of(exposure_group_, [&](int rank) { return core_.is_lost(rank); });
}

Fault ActiveTarget::end_exposure() {
  Fault fault = Fault::none;
  if (!all_completed())
    fault = core_.lost_because_of(*std::ranges::find_if(exposure_group_, [&](int r) { return core_.is_lost(r); }), "");
  core_.exposed = false;
  exposure_group_.clear();
  return fault;
}

}  // namespace rmq::rma
