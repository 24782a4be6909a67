// The locks of a window's members, taken directly where the target's control is mapped here. For origins that ask by
// packets the target does so in their name (Server): one lock for both, so that they exclude each other and wait in one
// queue.
#pragma once

#include "rma/fault.hpp"
#include "rma/rw_lock.hpp"
#include "rma/window_state.hpp"

namespace rmq::rma {

class WindowLock {
 public:
  explicit WindowLock(WindowState& w) : w_(w) {}
  /// Takes a place in the queue of that member's lock; try_take() then says whether it is held.
  void begin(int rank, LockType type, LockPlace& place);
  bool try_take(int rank, LockPlace& place) { return w_.at(rank).control->lock.try_take(place); }
  void release(int rank, LockPlace& place);
  /// *Waits* until the place that was begun in Reach::place is held.
  Fault wait_for(int rank);
  /// The lost member that keeps everybody from this lock, or -1.
  int broken_by(int rank) const;
  /// Somebody here waits for that lock, or no longer: whoever releases it rings.
  void announce(Control& control, bool waiting);

 private:
  WindowState& w_;
};

}  // namespace rmq::rma
