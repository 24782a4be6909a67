// Passive target: lock, unlock, flush.
#include <algorithm>
#include <atomic>

#include "rma/window_state.hpp"

namespace rmq::rma {
Fault Window::lock(LockType type, int target, unsigned assertions) {
  Reach& t = at(target);
  if (type != LockType::shared && type != LockType::exclusive) return Fault::locktype;
  if ((t.access & kLock) != 0 || (all_ & kLockAll) != 0 || accessing_ || ((all_ & kFence) != 0 && fence_used_))
    return Fault::sync;
  note(Event::win_lock, target, type == LockType::shared ? 1 : 2);
  all_ = 0;  // a fence without operations behind it has opened nothing
  if (++calls_ % kCallsPerPoll == 0) device().MPID_Poll(false);
  t.nocheck = (assertions & assertion::nocheck) != 0;
  if (t.direct) {
    if (!t.nocheck) {
      begin_lock(target, type, t.place);
      if (const Fault f = wait_for_lock(target); f != Fault::none) return f;
    }
  } else {
    Channel& c = channel(target);
    c.type = type;
    c.locks = !t.nocheck;
    c.state = t.nocheck ? Channel::State::open : Channel::State::unlocked;
  }
  t.exclusive = type == LockType::exclusive;
  t.access |= kLock;
  locked_.push_back(target);
  return Fault::none;
}

Fault Window::unlock(int target) {
  Reach& t = at(target);
  if ((t.access & kLock) == 0) return Fault::sync;
  note(Event::win_unlock, target);
  Fault fault = Fault::none;
  if (t.direct) {
    std::atomic_thread_fence(std::memory_order_release);
    if (!t.nocheck) {
      note(Event::lock_released, target, 0);
      release_lock(target, t.place);
    }
  } else {
    Goal goal = goal_of(target);
    fault = settle({&goal, 1}, true, true);
  }
  t.access = static_cast<std::uint8_t>(t.access & ~kLock);
  t.exclusive = t.nocheck = false;
  std::erase(locked_, target);
  serve_released();
  return fault;
}

Fault Window::lock_all(unsigned assertions) {
  if (all_ & kLockAll || !locked_.empty() || accessing_ || ((all_ & kFence) != 0 && fence_used_)) return Fault::sync;
  note(Event::win_lock_all, -1, assertions);
  nocheck_all_ = (assertions & assertion::nocheck) != 0;
  Fault first = Fault::none;
  if (!nocheck_all_) {
    for (int i = 0; i < size(); ++i) {
      if (at(i).direct) begin_lock(i, LockType::shared, at(i).place);
    }
    for (int i = 0; i < size(); ++i) {
      const Fault f = at(i).direct ? wait_for_lock(i) : Fault::none;
      if (first == Fault::none) first = f;
    }
  }
  all_ = kLockAll;
  return first;
}

Fault Window::unlock_all() {
  if ((all_ & kLockAll) == 0) return Fault::sync;
  note(Event::win_unlock_all, -1);
  std::atomic_thread_fence(std::memory_order_release);
  for (int i = 0; i < size(); ++i) {
    Reach& t = at(i);
    if (!t.direct || !t.place.held) continue;
    note(Event::lock_released, i, 0);
    release_lock(i, t.place);
  }
  std::vector<Goal> all = goals();
  const Fault fault = settle(all, true, true);
  all_ = 0;
  serve_released();
  return fault;
}

Fault Window::flush(int target) {
  Reach& t = at(target);
  if (((t.access & kLock) | (all_ & kLockAll)) == 0) [[unlikely]]
    return Fault::sync;
  note(Event::win_flush, target, 0);
  if (!t.direct) {
    Goal goal = goal_of(target);
    return settle({&goal, 1}, false, true);
  }
  // Later stores must not be seen before these: that is all there is to do. Later loads: short_way.hpp.
  std::atomic_thread_fence(std::memory_order_release);
  if (++calls_ % kCallsPerPoll == 0) device().MPID_Poll(false);
  return Fault::none;
}

Fault Window::flush_local(int target) {
  Reach& t = at(target);
  if (((t.access & kLock) | (all_ & kLockAll)) == 0) return Fault::sync;
  note(Event::win_flush, target, 1);
  if (!t.direct) {
    Goal goal = goal_of(target);
    return settle({&goal, 1}, false, false);
  }
  if (++calls_ % kCallsPerPoll == 0) device().MPID_Poll(false);
  return Fault::none;
}

Fault Window::flush_all() {
  if ((all_ & kLockAll) == 0 && locked_.empty()) return Fault::sync;
  note(Event::win_flush, -1, 0);
  std::atomic_thread_fence(std::memory_order_release);
  if (++calls_ % kCallsPerPoll == 0) device().MPID_Poll(false);
  if (busy_.empty()) return Fault::none;
  std::vector<Goal> all = goals();
  return settle(all, false, true);
}

Fault Window::flush_local_all() {
  if ((all_ & kLockAll) == 0 && locked_.empty()) return Fault::sync;
  note(Event::win_flush, -1, 1);
  if (++calls_ % kCallsPerPoll == 0) device().MPID_Poll(false);
  if (busy_.empty()) return Fault::none;
  std::vector<Goal> all = goals();
  return settle(all, false, false);
}

Fault Window::sync() {
  domain_.order();
  if (++calls_ % kCallsPerPoll == 0) device().MPID_Poll(false);
  return Fault::none;
}

}  // namespace rmq::rma
