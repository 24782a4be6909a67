#include "adi/gate.hpp"

#include <sched.h>

namespace rmq::adi {

void Gate::lock() {
  if (mutex_.try_lock()) return;
  contenders_.fetch_add(1, std::memory_order_relaxed);  // a hint for give_way()
  mutex_.lock();
  contenders_.fetch_sub(1, std::memory_order_relaxed);
}

void Gate::give_way() {
  if (!threads_) {
    ::sched_yield();
    return;
  }
  const Away away(*this, false);
  mutex_.unlock();
  ::sched_yield();
  lock();
}

Gate::Away::Away(Gate& g, bool callback)
    : gate_(g), call_(g.call_.load(std::memory_order_relaxed)), in_callback_(callback), awaited_(g.awaited) {
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
