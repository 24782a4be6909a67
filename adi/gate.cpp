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
  if (threads_) lock();
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
  const Away away(*this, false);
  unlock();
  ::sched_yield();
  lock();
}

Gate::Away::Away(Gate& g, bool callback)
    : gate_(g),
      call_(g.call_.load(std::memory_order_relaxed)),
      kind_(g.call_kind_),
      in_callback_(callback),
      awaited_(g.awaited) {
  next_ = g.away_;
  prev_ = &g.away_;
  if (next_) next_->prev_ = &next_;
  g.away_ = this;
  g.call_.store(call_ | (callback ? kCallBack : kCallLeft), std::memory_order_relaxed);
}

Gate::Away::~Away() {
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
