// SPDX-License-Identifier: BSD-3-Clause
#include "adi/gate.hpp"

#include <sched.h>

#include <cstdio>
#include <cstdlib>

namespace rmq::adi {

thread_local bool Gate::runs_handler = false;

void Gate::refuse(const char* function) const {
  std::fprintf(
      stderr,
      "rmq: rank %d: %s has been called in a handler of active messages, which may reply, and call nothing else\n",
      rank_, name_of(reinterpret_cast<std::uintptr_t>(function)));
  std::abort();
}

void Gate::enter(const char* function) {
  if (runs_handler) [[unlikely]]
    refuse(function);
  if (!threads_) return;
  lock();
  stirred_ = true;
}

void Gate::lock_mutex() {
  if (mutex_.try_lock()) return;
  contenders_.fetch_add(1, std::memory_order_relaxed);  // a hint for give_way()
  mutex_.lock();
  contenders_.fetch_sub(1, std::memory_order_relaxed);
}

// The agent stands in the door, or has come in: it holds the mutex for so long. That inside_ is set again before the
// mutex is free makes the agent see it the next time that it comes.
void Gate::wait_for_agent() {
  inside_.store(0, std::memory_order_release);
  lock_mutex();
  inside_.store(1, std::memory_order_relaxed);
  mutex_.unlock();
}

bool Gate::agent_try_lock() {
  if (!mutex_.try_lock()) return false;
  if (several_) return true;
  agent_.store(1, std::memory_order_relaxed);
  os::heavy_fence(asymmetric_);
  // Acquire pairs with the release in unlock(): what the program has done.
  const bool alone = inside_.load(std::memory_order_acquire) == 0;
  if (!alone) agent_unlock();
  return alone;
}

void Gate::agent_unlock() {
  agent_.store(0, std::memory_order_release);
  mutex_.unlock();
}

void Gate::give_way() {
  if (!threads()) {
    ::sched_yield();
    return;
  }
  const Away away(*this, Away::Why::gives_way);
  unlock();
  ::sched_yield();
  lock();
}

// What may end the wait is known: a request that completes, a message that is kept.
bool Gate::is_known(const Awaited& wait) const {
  return !distrusts_ && (wait.tell == &tell_awaited_request || wait.tell == &tell_awaited_probe);
}

bool Gate::is_over(const Away& sleeper) const {
  if (!is_known(sleeper.awaited_)) return true;
  if (sleeper.awaited_.tell == &tell_awaited_probe) return *kept_ != sleeper.kept_;
  return static_cast<const Request*>(sleeper.awaited_.object)->complete();
}

// With the device held, so that the sleeper is there until this is over.
void Gate::wake(Away& sleeper) {
  sleeper.woken_ = true;
  if (sleeper.why_ == Away::Why::listens) {
    ring();
  } else {
    sleeper.bunk_.wake();
  }
}

void Gate::tell_sleepers() {
  if (!std::exchange(stirred_, false) || sleepers == 0) return;
  for (Away* a = away_; a; a = a->next_) {
    if (a->why_ >= Away::Why::listens && !a->woken_ && is_over(*a)) wake(*a);
  }
}

bool Gate::is_listener_called() const {
  return listener_ != nullptr && listener_->woken_;
}

void Gate::call_listener() {
  if (listener_ != nullptr && !listener_->woken_) wake(*listener_);
}

// Others may change memory that a wait looks at without sending anything, and ring only who has announced that: a wait
// that is not known announces itself. All else comes to whoever polls.
bool Gate::may_sleep_beside() const {
  if (!several_ || !is_known(awaited)) return false;
  if (is_listened()) return true;
  for (const Away* a = away_; a; a = a->next_) {
    if (a->why_ == Away::Why::gives_way || a->woken_) return true;
  }
  return false;
}

// Before the call is over, or runs a function of the program.
void Gate::leave_sleepers() {
  tell_sleepers();
  Away* heir = nullptr;
  for (Away* a = away_; a; a = a->next_) {
    if (a->why_ == Away::Why::gives_way || a->why_ == Away::Why::listens || a->woken_) return;
    if (a->why_ == Away::Why::sleeps) heir = a;
  }
  if (heir != nullptr) wake(*heir);
}

Gate::Away::Away(Gate& g, Why why)
    : gate_(g),
      call_(g.call_.load(std::memory_order_relaxed)),
      kind_(g.call_kind_),
      why_(why),
      kept_(g.kept_ ? *g.kept_ : 0),
      awaited_(g.awaited) {
  if (g.sleepers > 0) why == Why::callback ? g.leave_sleepers() : g.tell_sleepers();
  g.stirred_ = false;
  if (why == Why::listens) g.listener_ = this;
  g.sleepers += why >= Why::listens;
  next_ = g.away_;
  prev_ = &g.away_;
  if (next_) next_->prev_ = &next_;
  g.away_ = this;
  g.call_.store(call_ | (why == Why::callback ? kCallBack : kCallLeft), std::memory_order_relaxed);
}

Gate::Away::~Away() {
  if (why_ == Why::listens) gate_.listener_ = nullptr;
  gate_.sleepers -= why_ >= Why::listens;
  *prev_ = next_;
  if (next_) next_->prev_ = prev_;
  gate_.awaited = awaited_;
  gate_.call_kind_ = kind_;
  gate_.call_.store(call_, std::memory_order_relaxed);
}

Doing Gate::doing() const {
  const std::uintptr_t call = call_.load(std::memory_order_relaxed);
  return (call & kCallLeft) || call == 0 ? Doing::outside : (call & kCallBack) ? Doing::callback : Doing::busy;
}

// As programs know it: "MPI_Send" for "PMPI_Send".
const char* Gate::name_of(std::uintptr_t call) {
  if (call == 0) return "";
  const char* const name = reinterpret_cast<const char*>(call & ~(kCallLeft | kCallBack));
  return name[0] == 'P' && name[1] == 'M' ? name + 1 : name;
}

}  // namespace rmq::adi
