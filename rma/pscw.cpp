// Post, start, complete, wait. Posts and completes are counted for each pair of members, on both sides; what travels is
// the count. A complete stands behind the operations that it closes.
#include <algorithm>
#include <atomic>

#include "rma/active.hpp"
#include "rma/sender.hpp"

namespace rmq::rma {
bool Active::has_completed(int rank) const {
  return WindowState::reached(w_.my_control->pair(rank).completes, posted_[static_cast<std::size_t>(rank)]);
}

bool Active::all_completed() const {
  return std::all_of(w_.epochs.exposure_group.begin(), w_.epochs.exposure_group.end(),
                     [&](int rank) { return has_completed(rank); });
}

Fault Active::post(std::span<const int> group, unsigned assertions) {
  if (w_.epochs.exposed) return Fault::sync;
  w_.epochs.exposed = true;
  w_.epochs.exposure_group.assign(group.begin(), group.end());
  for (const int rank : group) {
    w_.note(Event::win_post, rank, assertions);
    const std::uint32_t count = ++posted_[static_cast<std::size_t>(rank)];
    if ((assertions & assertion::nocheck) == 0) signal(rank, kPost, 0, count);
  }
  return Fault::none;
}

Fault Active::start(std::span<const int> group, unsigned assertions) {
  if (w_.epochs.accessing || w_.epochs.has(access::lock_all) || !w_.epochs.locked.empty() || w_.epochs.fenced())
    return Fault::sync;
  w_.epochs.all = 0;  // a fence without operations behind it has opened nothing
  w_.epochs.accessing = true;
  w_.epochs.nocheck_start = (assertions & assertion::nocheck) != 0;
  w_.epochs.access_group.assign(group.begin(), group.end());
  for (const int rank : group) {
    w_.note(Event::win_start, rank, assertions);
    ++w_.epochs.started[static_cast<std::size_t>(rank)];
  }
  return Fault::none;
}

Fault Active::complete() {
  if (!w_.epochs.accessing) return Fault::sync;
  for (const int rank : w_.epochs.access_group) w_.note(Event::win_complete, rank);
  std::vector<Goal> all = sender_.goals();
  Fault fault = Fault::none;
  // Posts without operations are waited for as well: none is still on its way when the window ends.
  for (const int rank : w_.epochs.access_group) {
    w_.wait_until({WaitFor::What::post, rank}, [&] { return w_.has_posted(rank) || w_.is_lost(rank); });
    if (fault == Fault::none && !w_.has_posted(rank)) fault = w_.lost_because_of(rank, "");
  }
  w_.domain.order();
  std::vector<int> later;  // they read for us, or not all has left: they may go on only when all is done here
  for (const int rank : w_.epochs.access_group) {
    w_.at(rank).access = static_cast<std::uint8_t>(w_.at(rank).access & ~access::start);
    Channel* c = sender_.in_use(rank);
    const adi::Device::Together together(w_.device(), w_.world(rank));
    if (c) {
      c->state = Channel::State::open;
      sender_.drain(*c, sender_.goal_of(rank), false, w_.targets_find_out() || c->typed > 0);
    }
    if (c && (c->head || c->answers > 0))
      later.push_back(rank);
    else
      signal(rank, kComplete, 0, w_.epochs.started[static_cast<std::size_t>(rank)]);
  }
  if (const Fault f = sender_.settle(all, false, w_.targets_find_out()); fault == Fault::none) fault = f;
  for (const int rank : later) signal(rank, kComplete, 0, w_.epochs.started[static_cast<std::size_t>(rank)]);
  for (const Goal& g : all) {
    sender_.close_synchronised(sender_.of(g));  // the target's wait is what speaks for it
  }
  w_.epochs.accessing = w_.epochs.nocheck_start = false;
  w_.epochs.access_group.clear();
  return fault;
}

Fault Active::wait() {
  if (!w_.epochs.exposed) return Fault::sync;
  for (const int rank : w_.epochs.exposure_group) w_.note(Event::win_wait, rank);
  const auto lost = [&] {
    return std::find_if(w_.epochs.exposure_group.begin(), w_.epochs.exposure_group.end(),
                        [&](int rank) { return w_.is_lost(rank); });
  };
  w_.wait_until({WaitFor::What::complete}, [&] { return all_completed() || lost() != w_.epochs.exposure_group.end(); });
  const Fault fault = all_completed() ? Fault::none : w_.lost_because_of(*lost(), "");
  end_exposure();
  return fault;
}

Fault Active::test(bool& done) {
  if (!w_.epochs.exposed) return Fault::sync;
  done = all_completed();
  if (!done) {
    w_.device().MPID_Poll(false);
    done = all_completed();
  }
  if (done) end_exposure();
  return Fault::none;
}

void Active::end_exposure() {
  w_.epochs.exposed = false;
  w_.epochs.exposure_group.clear();
}

}  // namespace rmq::rma
