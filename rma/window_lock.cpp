// Whoever waits announces it (Pair::waits, Control::waiters), so that who releases wakes it; and everybody's places in
// the queue are counted in Pair::hold, so that the others can tell when a rank that is lost keeps them waiting for
// ever.
#include "rma/window_lock.hpp"

#include <algorithm>

namespace rmq::rma {
namespace {

/// Only its own process writes a member's words.
void add(std::atomic<std::uint32_t>& word, std::uint32_t by) {
  word.store(word.load(std::memory_order_relaxed) + by, std::memory_order_relaxed);
}

}  // namespace

void WindowLock::begin(int rank, LockType type, LockPlace& place) {
  Control& control = *w_.at(rank).control;
  add(control.pair(w_.me()).hold, 1);
  control.lock.begin(type, place);
}

void WindowLock::announce(Control& control, bool waiting) {
  add(control.pair(w_.me()).waits, waiting ? 1u : ~0u);
  // Sequentially consistent, as RwLock::release and its caller's look: either that look sees this, or the next look at
  // the lock here sees the release.
  control.waiters.fetch_add(waiting ? 1u : ~0u, std::memory_order_seq_cst);
}

void WindowLock::release(int rank, LockPlace& place) {
  Control& control = *w_.at(rank).control;
  control.lock.release(place);
  add(control.pair(w_.me()).hold, ~0u);
  if (control.waiters.load(std::memory_order_seq_cst) == 0) [[likely]]
    return;
  for (int i = 0; i < w_.size(); ++i) {
    if (i != w_.me() && control.pair(i).waits.load(std::memory_order_relaxed) != 0) w_.device().MPID_Wake(w_.world(i));
  }
}

Fault WindowLock::wait_for(int rank) {
  LockPlace& place = w_.at(rank).place;
  if (place.held || try_take(rank, place)) [[likely]] {
    w_.note(Event::lock_granted, rank, 0);
    return Fault::none;
  }
  w_.note(Event::lock_queued, rank, 0);
  Control& control = *w_.at(rank).control;
  announce(control, true);
  w_.wait_until({WaitFor::What::lock, rank}, [&] { return try_take(rank, place) || broken_by(rank) >= 0; });
  announce(control, false);
  if (place.held) {
    w_.note(Event::lock_granted, rank, 0);
    return Fault::none;
  }
  return w_.lost_because_of(broken_by(rank), ", and held the lock of a window or waited for it");
}

int WindowLock::broken_by(int rank) const {
  for (const int lost : w_.lost_members) {
    // Relaxed: its process has ended, so the word does not change any more.
    if (w_.at(rank).control->pair(lost).hold.load(std::memory_order_relaxed) != 0) return lost;
  }
  return -1;
}

}  // namespace rmq::rma
