// SPDX-License-Identifier: BSD-3-Clause
// Whoever waits announces it (Pair::waits, Control::waiters), so that who releases wakes it; and everybody's places in
// the queue are counted in Pair::hold, so that the others can tell when a rank that is lost keeps them waiting for
// ever.
#include "rma/target/lock.hpp"

#include "base/os/clock.hpp"

namespace rmq::rma {
namespace {

// How long a reader stands behind a writer that waits for readers itself.
constexpr std::uint64_t kPatienceNs = 10'000'000;

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

// Whether the lock is held by now. MPI says nothing of the order in which locks are granted, so a program may count on
// shared locks being had together whoever waits: a reader must not stand for ever behind a writer that waits for
// readers. It may wait for those that pass a message to this one, or that wait for a lock that this one holds. But each
// that passes a writer makes the next one's patience longer: readers that come again and again do not keep it out.
bool Lock::has_come(int rank, LockPlace& place, std::uint64_t since) {
  if (try_take(rank, place)) return true;
  if (place.type != LockType::shared) return false;
  RwLock& lock = core_.at(rank).control->lock;
  return os::now_ns() - since > kPatienceNs * (std::uint64_t{lock.overtaken()} + 1) && lock.overtake(place);
}

void Lock::begin(int rank, LockType type, LockPlace& place) {
  Control& control = *core_.at(rank).control;
  add(control.pair(core_.host_me).hold, 1);
  control.lock.begin(type, place);
}

void Lock::join(int rank, LockPlace& place) {
  Control& control = *core_.at(rank).control;
  add(control.pair(core_.host_me).hold, 1);
  control.lock.join(place);
}

void Lock::release(int rank, LockPlace& place) {
  Control& control = *core_.at(rank).control;
  control.lock.release(place);
  add(control.pair(core_.host_me).hold, ~0u);
  if (control.waiters.load(std::memory_order_seq_cst) == 0) [[likely]]
    return;
  for (int i = 0; i < core_.host.size(); ++i) {
    if (i != core_.host_me && control.pair(i).waits.load(std::memory_order_relaxed) != 0)
      core_.device().wake(core_.world(core_.host[i]));
  }
}

Fault Lock::wait(int rank) {
  LockPlace& place = core_.at(rank).place;
  if (place.held || try_take(rank, place)) [[likely]] {
    core_.note(Event::lock_granted, rank, 0);
    return Fault::none;
  }
  core_.note(Event::lock_queued, rank, 0);
  Control& control = *core_.at(rank).control;
  announce(control, core_.host_me, true);
  const std::uint64_t since = os::now_ns();
  core_.wait_until({WaitFor::What::lock, rank}, [&] { return has_come(rank, place, since) || broken_by(rank) >= 0; });
  announce(control, core_.host_me, false);
  if (place.held) {
    core_.note(Event::lock_granted, rank, 0);
    return Fault::none;
  }
  return core_.lost_because_of(broken_by(rank), ", and held the lock of a window or waited for it");
}

int Lock::broken_by(int rank) const {
  for (const int lost : core_.lost_members) {
    const int place = core_.on_host(lost);
    // Relaxed: its process has ended, so the word does not change any more.
    if (place >= 0 && core_.at(rank).control->pair(place).hold.load(std::memory_order_relaxed) != 0) return lost;
  }
  return -1;
}

// ---- for origins that ask by packets ----

bool Lock::take_for(Origin& o, LockType type, bool in_line) {
  type == LockType::shared && !in_line ? join(core_.me, o.place) : begin(core_.me, type, o.place);
  o.lock = o.place.held ? Origin::Lock::held : Origin::Lock::waiting;
  core_.note(o.place.held ? Event::lock_granted : Event::lock_queued, o.rank, 1);
  if (o.place.held) return true;
  ++core_.domain.count().locks_queued;
  announce(*core_.control, core_.host_me, true);
  o.waits_since = os::now_ns();
  waiting_.push_back(&o);
  return false;
}

void Lock::release_for(Origin& o) {
  if (o.lock != Origin::Lock::held) return;
  if (o.answers > 0) {
    o.lock = Origin::Lock::leaving;
    return;
  }
  o.lock = Origin::Lock::none;
  core_.note(Event::lock_released, o.rank, 1);
  release(core_.me, o.place);
}

void Lock::answer_left(Origin& o) {
  if (--o.answers > 0 || o.lock != Origin::Lock::leaving) return;
  o.lock = Origin::Lock::held;
  release_for(o);
}

// By index: what the caller runs for one of them may add to the list.
Origin* Lock::next(std::size_t& from, bool broken) {
  for (; from < waiting_.size(); ++from) {
    Origin& o = *waiting_[from];
    if (!has_come(core_.me, o.place, o.waits_since) && !broken) continue;
    waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(from));
    announce(*core_.control, core_.host_me, false);
    o.lock = o.place.held ? Origin::Lock::held : Origin::Lock::none;
    if (o.place.held) core_.note(Event::lock_granted, o.rank, 1);
    return &o;
  }
  return nullptr;
}

}  // namespace rmq::rma
