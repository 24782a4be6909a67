// SPDX-License-Identifier: BSD-3-Clause
// Passive target: lock, unlock, flush.
#include "rma/epoch/passive_target.hpp"

#include <algorithm>
#include <atomic>

namespace rmq::rma {

Fault PassiveTarget::lock(LockType type, int target, unsigned assertions) {
  Reach& t = core_.at(target);
  if (type != LockType::shared && type != LockType::exclusive) return Fault::locktype;
  if (is_locked(t) || t.asked || core_.accessing || core_.in_fence()) return Fault::sync;
  core_.note(Event::win_lock, target, type == LockType::shared ? 1 : 2);
  core_.all = 0;  // a fence without operations behind it has opened nothing
  core_.poll_at_times();
  t.nocheck = (assertions & assertion::nocheck) != 0;
  t.asked = true;
  ++core_.locking;
  const Fault fault = take(type, target, t);
  --core_.locking;
  t.asked = false;
  if (fault != Fault::none) return fault;
  t.exclusive = type == LockType::exclusive;
  t.access |= access::lock;
  core_.locked.push_back(target);
  core_.locked_by.push_back(DomainCore::this_thread());
  return Fault::none;
}

// One lock alone may be asked for later, with an operation. Who locks several at once counts on their order: each is
// held before the next one is asked for.
Fault PassiveTarget::take(LockType type, int target, Reach& t) {
  if (t.nocheck) return t.direct ? Fault::none : sender_.begin_lock(target, type, true, false);
  DomainCore& domain = core_.domain;
  sender_.hold_locks();
  const bool several = domain.begin_lock();
  Fault fault = Fault::none;
  if (t.direct) {
    lock_.begin(target, type);
    fault = lock_.wait(target);
  } else {
    fault = sender_.begin_lock(target, type, false, several);
  }
  if (fault != Fault::none) domain.end_lock(DomainCore::this_thread());
  return fault;
}

Fault PassiveTarget::unlock(int target) {
  Reach& t = core_.at(target);
  if ((t.access & access::lock) == 0) return Fault::sync;
  core_.note(Event::win_unlock, target);
  Fault fault = Fault::none;
  if (t.direct) {
    std::atomic_thread_fence(std::memory_order_release);
    if (!t.nocheck) {
      core_.note(Event::lock_released, target, 0);
      lock_.release(target);
    }
  } else {
    fault = sender_.finish(target, Until::unlock);
  }
  const auto at = std::ranges::find(core_.locked, target) - core_.locked.begin();
  if (!t.nocheck) core_.domain.end_lock(core_.locked_by[static_cast<std::size_t>(at)]);
  core_.locked.erase(core_.locked.begin() + at);
  core_.locked_by.erase(core_.locked_by.begin() + at);
  t.access = static_cast<std::uint8_t>(t.access & ~access::lock);
  t.exclusive = t.nocheck = false;
  server_.serve_released();
  return fault;
}

// Locks are taken as operations ask for them: who has locked a thousand members for sixteen puts touches the memory of
// sixteen. Where the program may reach memory by its address alone, there is no operation to wait for.
Fault PassiveTarget::lock_all(unsigned assertions) {
  if (core_.in_lock() || core_.accessing || core_.in_fence()) return Fault::sync;
  core_.note(Event::win_lock_all, -1, assertions);
  core_.all = 0;
  core_.nocheck_all = (assertions & assertion::nocheck) != 0;
  sender_.hold_locks();
  core_.lock_all = true;
  core_.all_by = DomainCore::this_thread();
  const Fault fault = core_.by_address ? admit_all() : admit(core_.me);
  if (fault != Fault::none) unlock_all();  // no epoch has begun
  return fault;
}

Fault PassiveTarget::admit(int target) {
  Reach& t = core_.at(target);
  if (t.asked) core_.wait_until({WaitFor::What::lock, target}, [&] { return !t.asked; });  // by another thread
  if ((t.access & access::lock_all) != 0) return Fault::none;
  if (t.direct && !core_.nocheck_all) {
    sender_.hold_locks();
    t.asked = true;
    lock_.join(target);
    const Fault f = lock_.wait(target);
    t.asked = false;
    if (f != Fault::none) return f;
  }
  t.access |= access::lock_all;
  core_.admitted.push_back(target);
  return Fault::none;
}

Fault PassiveTarget::admit_all() {
  Fault first = Fault::none;
  for (const int i : core_.host) {
    const Fault f = core_.at(i).direct ? admit(i) : Fault::none;
    if (first == Fault::none) first = f;
  }
  return first;
}

Fault PassiveTarget::reach_by_address() {
  core_.by_address = true;
  return core_.lock_all ? admit_all() : Fault::none;
}

Fault PassiveTarget::unlock_all() {
  if (!core_.lock_all) return Fault::sync;
  core_.note(Event::win_unlock_all, -1);
  std::atomic_thread_fence(std::memory_order_release);
  for (const int i : core_.admitted) {
    Reach& t = core_.at(i);
    t.access = static_cast<std::uint8_t>(t.access & ~access::lock_all);
    if (!t.direct || core_.nocheck_all) continue;
    core_.note(Event::lock_released, i, 0);
    lock_.release(i);
  }
  core_.admitted.clear();
  const Fault fault = sender_.finish_all(Until::unlock);
  core_.lock_all = false;
  server_.serve_released();
  return fault;
}

Fault PassiveTarget::flush(int target) {
  Reach& t = core_.at(target);
  if (!is_locked(t)) [[unlikely]]
    return Fault::sync;
  core_.note(Event::win_flush, target, 0);
  core_.poll_at_times();
  if (!t.direct) {
    return sender_.finish(target, Until::remote);
  }
  // Later stores must not be seen before these: that is all there is to do. Later loads: short_way.hpp.
  std::atomic_thread_fence(std::memory_order_release);
  return Fault::none;
}

Fault PassiveTarget::flush_local(int target) {
  Reach& t = core_.at(target);
  if (!is_locked(t)) return Fault::sync;
  core_.note(Event::win_flush, target, 1);
  core_.poll_at_times();
  return t.direct ? Fault::none : sender_.finish(target, Until::local);
}

Fault PassiveTarget::flush_all() {
  if (!core_.in_lock()) return Fault::sync;
  core_.note(Event::win_flush, -1, 0);
  std::atomic_thread_fence(std::memory_order_release);
  core_.poll_at_times();
  return sender_.finish_all(Until::remote);
}

Fault PassiveTarget::flush_local_all() {
  if (!core_.in_lock()) return Fault::sync;
  core_.note(Event::win_flush, -1, 1);
  core_.poll_at_times();
  return sender_.finish_all(Until::local);
}

Fault PassiveTarget::sync() {
  core_.domain.order();
  core_.poll_at_times();
  return Fault::none;
}

}  // namespace rmq::rma
