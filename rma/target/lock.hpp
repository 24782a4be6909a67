// SPDX-License-Identifier: BSD-3-Clause
// The lock of a window on one rank: taken directly where its control is mapped, else by the target for an origin that
// asks by packets. One lock for both, so that they exclude each other and wait in one queue (rma/memory/rw_lock.hpp).
//
// Owns the list of origins that wait for this rank's lock. PassiveTarget takes and releases locks for the program,
// Server for origins. It sends no packets: Server asks who is next, and answers.
#pragma once

#include <cstddef>
#include <vector>

#include "rma/core/fault.hpp"
#include "rma/core/window_core.hpp"
#include "rma/memory/rw_lock.hpp"
#include "rma/target/origin.hpp"

namespace rmq::rma {

class Lock {
 public:
  explicit Lock(WindowCore& core) : core_(core) {}

  // ---- for the program: of targets that are reached directly, at Reach::place ----
  /// Takes a place in the queue.
  void begin(int rank, LockType type) { begin(rank, type, core_.at(rank).place); }
  /// The same for a shared lock that the program has asked for before, and may count on: RwLock::join().
  void join(int rank) { join(rank, core_.at(rank).place); }
  /// *Waits* until the lock is held. Fault::peer_lost when it never will be.
  Fault wait(int rank);
  void release(int rank) { release(rank, core_.at(rank).place); }

  // ---- for origins that ask by packets: of this rank, at Origin::place ----
  /// Whether it is held at once; else the origin waits. Shared locks are asked for when the program has long come out
  /// of the call that locks, unless the origin is `in_line`: then it waits there, and behind writers.
  bool take_for(Origin& o, LockType type, bool in_line);
  /// Whether somebody else than the origin holds it exclusively or waits for that.
  bool has_writers(const Origin& o) const {
    const bool mine = o.lock != Origin::Lock::none && o.place.type == LockType::exclusive;
    return core_.control->lock.writers() > (mine ? 1u : 0u);
  }
  /// Nothing happens if the origin does not hold it. An answer is read from window memory until it has left, and nobody
  /// else may change that memory before: the lock is kept until the last answer to this origin has left.
  void release_for(Origin& o);
  /// One of Origin::answers has left.
  void answer_left(Origin& o);
  bool has_waiting() const { return !waiting_.empty(); }
  /// The next in the list, from there on, whose turn has come (Origin::lock says held), or, with `broken`, will never
  /// come. It waits no longer. Null: none.
  Origin* next(std::size_t& from, bool broken);

  /// The lost member that keeps everybody from that rank's lock, or -1.
  int broken_by(int rank) const;

 private:
  void begin(int rank, LockType type, LockPlace& place);
  void join(int rank, LockPlace& place);
  bool try_take(int rank, LockPlace& place) { return core_.at(rank).control->lock.try_take(place); }
  bool has_come(int rank, LockPlace& place, std::uint64_t since);
  void release(int rank, LockPlace& place);

  WindowCore& core_;
  std::vector<Origin*> waiting_;
};

}  // namespace rmq::rma
