// The lock of a window on one rank: taken directly where its control is mapped, else by the target for an origin that
// asks by packets. One lock for both, so that they exclude each other and wait in one queue.
//
// Whoever waits announces it (Pair::waits, Control::waiters), so that who releases wakes it; and everybody's places in
// the queue are counted in Pair::hold, so that the others can tell when a rank that is lost keeps them waiting for
// ever.
#include <algorithm>

#include "rma/window_state.hpp"

namespace rmq::rma {
namespace {

/// Only its own process writes a member's words.
void add(std::atomic<std::uint32_t>& word, std::uint32_t by) {
  word.store(word.load(std::memory_order_relaxed) + by, std::memory_order_relaxed);
}

void announce(Control& control, int me, bool waiting) {
  add(control.pair(me).waits, waiting ? 1u : ~0u);
  // Sequentially consistent, as RwLock::release and its caller's look: either that look sees this, or the next look at
  // the lock here sees the release.
  control.waiters.fetch_add(waiting ? 1u : ~0u, std::memory_order_seq_cst);
}

}  // namespace

void Window::begin_lock(int rank, LockType type, LockPlace& place) {
  Control& control = *at(rank).control;
  add(control.pair(me()).hold, 1);
  control.lock.begin(type, place);
}

bool Window::try_lock(int rank, LockPlace& place) {
  return at(rank).control->lock.try_take(place);
}

void Window::release_lock(int rank, LockPlace& place) {
  Control& control = *at(rank).control;
  control.lock.release(place);
  add(control.pair(me()).hold, ~0u);
  if (control.waiters.load(std::memory_order_seq_cst) == 0) [[likely]]
    return;
  for (int i = 0; i < size(); ++i) {
    if (i != me() && control.pair(i).waits.load(std::memory_order_relaxed) != 0) device().MPID_Wake(world(i));
  }
}

Fault Window::wait_for_lock(int rank) {
  LockPlace& place = at(rank).place;
  if (place.held || try_lock(rank, place)) [[likely]] {
    note(Event::lock_granted, rank, 0);
    return Fault::none;
  }
  note(Event::lock_queued, rank, 0);
  Control& control = *at(rank).control;
  announce(control, me(), true);
  wait_until({WaitFor::What::lock, rank}, [&] { return try_lock(rank, place) || broken_by(rank) >= 0; });
  announce(control, me(), false);
  if (place.held) {
    note(Event::lock_granted, rank, 0);
    return Fault::none;
  }
  return lost_because_of(broken_by(rank), ", and held the lock of a window or waited for it");
}

// The lost member that keeps everybody from this lock, or -1.
int Window::broken_by(int rank) const {
  for (const int lost : lost_members_) {
    // Relaxed: its process has ended, so the word does not change any more.
    if (at(rank).control->pair(lost).hold.load(std::memory_order_relaxed) != 0) return lost;
  }
  return -1;
}

// ---- for origins that ask by packets ----

bool Window::serve_lock(Origin& o, LockType type) {
  begin_lock(me(), type, o.place);
  o.lock = o.place.held ? Origin::Lock::held : Origin::Lock::waiting;
  note(o.place.held ? Event::lock_granted : Event::lock_queued, o.rank, 1);
  if (o.place.held) return true;
  ++domain_.counters_.locks_queued;
  announce(*control_, me(), true);
  waiting_.push_back(o.rank);
  domain_.serve_locks_of(*this, true);
  return false;
}

void Window::unlock_for(Origin& o) {
  if (o.lock != Origin::Lock::held) return;
  o.lock = Origin::Lock::none;
  note(Event::lock_released, o.rank, 1);
  release_lock(me(), o.place);
}

int Window::serve_locks() {
  int served = 0;
  const int broken = broken_by(me());
  // By index: what runs below may add to the list.
  for (std::size_t i = 0; i < waiting_.size();) {
    Origin& o = origin(waiting_[i]);
    if (!try_lock(me(), o.place) && broken < 0) {
      ++i;
      continue;
    }
    waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(i));
    announce(*control_, me(), false);
    ++served;
    o.lock = o.place.held ? Origin::Lock::held : Origin::Lock::none;
    if (o.place.held) note(Event::lock_granted, o.rank, 1);
    if (o.lost) {
      unlock_for(o);  // its turn has come too late
    } else if (o.place.held) {
      run(o, true);
    } else {
      refuse_lock(o, world(broken));
    }
  }
  if (waiting_.empty()) domain_.serve_locks_of(*this, false);
  return served;
}

}  // namespace rmq::rma
