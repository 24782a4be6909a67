// Passive target: lock, unlock, flush.
#include <algorithm>
#include <atomic>

#include "rma/sender.hpp"
#include "rma/server.hpp"
#include "rma/window.hpp"
#include "rma/window_lock.hpp"

namespace rmq::rma {

Fault Window::lock(LockType type, int target, unsigned assertions) {
  Reach& t = at(target);
  if (type != LockType::shared && type != LockType::exclusive) return Fault::locktype;
  if ((t.access & access::lock) != 0 || epochs.has(access::lock_all) || epochs.accessing || epochs.fenced())
    return Fault::sync;
  note(Event::win_lock, target, type == LockType::shared ? 1 : 2);
  epochs.all = 0;  // a fence without operations behind it has opened nothing
  if (++calls % kCallsPerPoll == 0) device().MPID_Poll(false);
  t.nocheck = (assertions & assertion::nocheck) != 0;
  if (t.direct) {
    if (!t.nocheck) {
      lock_->begin(target, type, t.place);
      if (const Fault f = lock_->wait_for(target); f != Fault::none) return f;
    }
  } else {
    Channel& c = sender_->channel(target);
    c.type = type;
    c.locks = !t.nocheck;
    c.state = t.nocheck ? Channel::State::open : Channel::State::unlocked;
  }
  t.exclusive = type == LockType::exclusive;
  t.access |= access::lock;
  epochs.locked.push_back(target);
  return Fault::none;
}

Fault Window::unlock(int target) {
  Reach& t = at(target);
  if ((t.access & access::lock) == 0) return Fault::sync;
  note(Event::win_unlock, target);
  Fault fault = Fault::none;
  if (t.direct) {
    std::atomic_thread_fence(std::memory_order_release);
    if (!t.nocheck) {
      note(Event::lock_released, target, 0);
      lock_->release(target, t.place);
    }
  } else {
    Goal goal = sender_->goal_of(target);
    fault = sender_->settle({&goal, 1}, true, true);
  }
  t.access = static_cast<std::uint8_t>(t.access & ~access::lock);
  t.exclusive = t.nocheck = false;
  std::erase(epochs.locked, target);
  server_->serve_released();
  return fault;
}

Fault Window::lock_all(unsigned assertions) {
  if (epochs.has(access::lock_all) || !epochs.locked.empty() || epochs.accessing || epochs.fenced()) return Fault::sync;
  note(Event::win_lock_all, -1, assertions);
  epochs.nocheck_all = (assertions & assertion::nocheck) != 0;
  Fault first = Fault::none;
  if (!epochs.nocheck_all) {
    for (int i = 0; i < size(); ++i) {
      if (at(i).direct) lock_->begin(i, LockType::shared, at(i).place);
    }
    for (int i = 0; i < size(); ++i) {
      const Fault f = at(i).direct ? lock_->wait_for(i) : Fault::none;
      if (first == Fault::none) first = f;
    }
  }
  epochs.all = access::lock_all;
  return first;
}

Fault Window::unlock_all() {
  if (!epochs.has(access::lock_all)) return Fault::sync;
  note(Event::win_unlock_all, -1);
  std::atomic_thread_fence(std::memory_order_release);
  for (int i = 0; i < size(); ++i) {
    Reach& t = at(i);
    if (!t.direct || !t.place.held) continue;
    note(Event::lock_released, i, 0);
    lock_->release(i, t.place);
  }
  std::vector<Goal> all = sender_->goals();
  const Fault fault = sender_->settle(all, true, true);
  epochs.all = 0;
  server_->serve_released();
  return fault;
}

Fault Window::flush(int target) {
  Reach& t = at(target);
  if (((t.access & access::lock) | (epochs.all & access::lock_all)) == 0) [[unlikely]]
    return Fault::sync;
  note(Event::win_flush, target, 0);
  if (!t.direct) {
    Goal goal = sender_->goal_of(target);
    return sender_->settle({&goal, 1}, false, true);
  }
  // Later stores must not be seen before these: that is all there is to do. Later loads: short_way.hpp.
  std::atomic_thread_fence(std::memory_order_release);
  if (++calls % kCallsPerPoll == 0) device().MPID_Poll(false);
  return Fault::none;
}

Fault Window::flush_local(int target) {
  Reach& t = at(target);
  if (((t.access & access::lock) | (epochs.all & access::lock_all)) == 0) return Fault::sync;
  note(Event::win_flush, target, 1);
  if (!t.direct) {
    Goal goal = sender_->goal_of(target);
    return sender_->settle({&goal, 1}, false, false);
  }
  if (++calls % kCallsPerPoll == 0) device().MPID_Poll(false);
  return Fault::none;
}

Fault Window::flush_all() {
  if (!epochs.has(access::lock_all) && epochs.locked.empty()) return Fault::sync;
  note(Event::win_flush, -1, 0);
  std::atomic_thread_fence(std::memory_order_release);
  if (++calls % kCallsPerPoll == 0) device().MPID_Poll(false);
  if (!sender_->is_busy()) return Fault::none;
  std::vector<Goal> all = sender_->goals();
  return sender_->settle(all, false, true);
}

Fault Window::flush_local_all() {
  if (!epochs.has(access::lock_all) && epochs.locked.empty()) return Fault::sync;
  note(Event::win_flush, -1, 1);
  if (++calls % kCallsPerPoll == 0) device().MPID_Poll(false);
  if (!sender_->is_busy()) return Fault::none;
  std::vector<Goal> all = sender_->goals();
  return sender_->settle(all, false, false);
}

Fault Window::sync() {
  domain.order();
  if (++calls % kCallsPerPoll == 0) device().MPID_Poll(false);
  return Fault::none;
}

}  // namespace rmq::rma
