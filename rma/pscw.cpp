// Post, start, complete, wait. Posts and completes are counted for each pair of members, on both sides; what travels is
// the count. A complete stands behind the operations that it closes.
#include <algorithm>
#include <atomic>

#include "rma/window_state.hpp"

namespace rmq::rma {
namespace {

/// Counts may wrap. Acquire pairs with the release in signal() or signalled(): what the other side has stored before.
bool reached(const std::atomic<std::uint32_t>& word, std::uint32_t count) {
  return static_cast<std::int32_t>(word.load(std::memory_order_acquire) - count) >= 0;
}

}  // namespace

bool Window::has_posted(int rank) const {
  return nocheck_start_ || reached(control_->pair(rank).posts, started_[static_cast<std::size_t>(rank)]);
}

bool Window::has_completed(int rank) const {
  return reached(control_->pair(rank).completes, posted_[static_cast<std::size_t>(rank)]);
}

bool Window::all_completed() const {
  return std::all_of(exposure_group_.begin(), exposure_group_.end(), [&](int rank) { return has_completed(rank); });
}

Fault Window::post(std::span<const int> group, unsigned assertions) {
  if (exposed_) return Fault::sync;
  exposed_ = true;
  exposure_group_.assign(group.begin(), group.end());
  for (const int rank : group) {
    note(Event::win_post, rank, assertions);
    const std::uint32_t count = ++posted_[static_cast<std::size_t>(rank)];
    if ((assertions & assertion::nocheck) == 0) signal(rank, 1, 0, count);
  }
  return Fault::none;
}

Fault Window::start(std::span<const int> group, unsigned assertions) {
  if (accessing_ || (all_ & kLockAll) != 0 || !locked_.empty() || ((all_ & kFence) != 0 && fence_used_))
    return Fault::sync;
  all_ = 0;  // a fence without operations behind it has opened nothing
  accessing_ = true;
  nocheck_start_ = (assertions & assertion::nocheck) != 0;
  access_group_.assign(group.begin(), group.end());
  for (const int rank : group) {
    note(Event::win_start, rank, assertions);
    ++started_[static_cast<std::size_t>(rank)];
  }
  return Fault::none;
}

Fault Window::complete() {
  if (!accessing_) return Fault::sync;
  for (const int rank : access_group_) note(Event::win_complete, rank);
  std::vector<Goal> all = goals();
  Fault fault = Fault::none;
  // Posts without operations are waited for as well: none is still on its way when the window ends.
  for (const int rank : access_group_) {
    wait_until({WaitFor::What::post, rank}, [&] { return has_posted(rank) || is_lost(rank); });
    if (fault == Fault::none && !has_posted(rank)) fault = lost_because_of(rank, "");
  }
  domain_.order();
  std::vector<int> later;  // they read for us, or not all has left: they may go on only when all is done here
  for (const int rank : access_group_) {
    at(rank).access = static_cast<std::uint8_t>(at(rank).access & ~kStart);
    Channel* c = in_use(rank);
    const adi::Device::Together together(device(), world(rank));
    if (c) {
      c->state = Channel::State::open;
      drain(*c, goal_of(rank), false, targets_find_out() || c->typed > 0);
    }
    if (c && (c->head || c->answers > 0))
      later.push_back(rank);
    else
      signal(rank, 2, 0, started_[static_cast<std::size_t>(rank)]);
  }
  if (const Fault f = settle(all, false, targets_find_out()); fault == Fault::none) fault = f;
  for (const int rank : later) signal(rank, 2, 0, started_[static_cast<std::size_t>(rank)]);
  for (const Goal& g : all) {
    Channel& c = *channels_[static_cast<std::size_t>(g.rank)];
    c.acked = c.asked_to = c.sent;  // the target's wait is what speaks for it
    close(c);
  }
  accessing_ = nocheck_start_ = false;
  access_group_.clear();
  return fault;
}

Fault Window::wait() {
  if (!exposed_) return Fault::sync;
  for (const int rank : exposure_group_) note(Event::win_wait, rank);
  const auto lost = [&] {
    return std::find_if(exposure_group_.begin(), exposure_group_.end(), [&](int rank) { return is_lost(rank); });
  };
  wait_until({WaitFor::What::complete}, [&] { return all_completed() || lost() != exposure_group_.end(); });
  const Fault fault = all_completed() ? Fault::none : lost_because_of(*lost(), "");
  exposed_ = false;
  exposure_group_.clear();
  return fault;
}

Fault Window::test(bool& done) {
  if (!exposed_) return Fault::sync;
  done = all_completed();
  if (!done) {
    device().MPID_Poll(false);
    done = all_completed();
  }
  if (done) {
    exposed_ = false;
    exposure_group_.clear();
  }
  return Fault::none;
}

}  // namespace rmq::rma
