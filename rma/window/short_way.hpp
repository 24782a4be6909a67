// SPDX-License-Identifier: BSD-3-Clause
// The short way of an operation: the memory is mapped here, an epoch is open, and the data is one run of bytes or one
// number. Inline, for an 8-byte put costs less than the calls that would lead to it. Whatever is not so plain, and
// every error, is left to the long way (rma/window/direct.cpp): these then return false and have done nothing.
//
// Loads must not overtake stores of earlier operations that are complete, as after a flush, yet a fence of memory would
// cost a flush more than all the rest. On x86, and with release fences elsewhere, stores stay in order among
// themselves, so only a load needs it: the first operation that loads after one that has stored (DomainCore::stored_).
// The program's own loads and stores are ordered by MPI_Win_sync, as MPI wants it.
#pragma once

#include <atomic>
#include <type_traits>

#include "base/data/copy.hpp"
#include "rma/memory/control.hpp"
#include "rma/memory/store.hpp"
#include "rma/window/window.hpp"

namespace rmq::rma {

/// fn(std::type_identity<T>) for the types of number that accumulates are mostly made of; false for any other.
template <class Fn>
[[gnu::always_inline]] inline bool with_number(Basic basic, Fn&& fn) {
  switch (basic) {
    case Basic::i32:
    case Basic::u32:
      return fn(std::type_identity<std::uint32_t>{});
    case Basic::i64:
    case Basic::u64:
      return fn(std::type_identity<std::uint64_t>{});
    case Basic::f32:
      return fn(std::type_identity<float>{});
    case Basic::f64:
      return fn(std::type_identity<double>{});
    default:
      return false;
  }
}

/// The mutex of the one region that an element lies in, tried once.
class ElementGuard {
 public:
  /// `offset` of the element in the target's memory.
  [[gnu::always_inline]] ElementGuard(const Reach& t, std::uint64_t offset, std::uint64_t bytes, int me) {
    if (t.alone || t.exclusive) return;
    const std::uint64_t region = offset >> t.shift;
    if ((offset + bytes - 1) >> t.shift != region) {
      held_ = false;
      return;
    }
    std::atomic<std::uint32_t>& holder = t.control->regions[region % Control::kRegions].holder;
    std::uint32_t free = 0;
    // Acquire pairs with the release of whoever held it before.
    held_ = holder.compare_exchange_strong(free, static_cast<std::uint32_t>(me + 1), std::memory_order_acquire,
                                           std::memory_order_relaxed);
    if (held_) holder_ = &holder;
  }
  [[gnu::always_inline]] ~ElementGuard() {
    if (holder_) holder_->store(0, std::memory_order_release);
  }
  ElementGuard(const ElementGuard&) = delete;
  ElementGuard& operator=(const ElementGuard&) = delete;
  explicit operator bool() const { return held_; }

 private:
  std::atomic<std::uint32_t>* holder_ = nullptr;
  bool held_ = true;
};

// The memory of `bytes` bytes at `disp` of that rank, or null. `rank` may be any number.
[[gnu::always_inline]] inline Reach* Window::plainly(int rank, std::int64_t disp, std::uint64_t bytes,
                                                     std::uint64_t& offset) {
  if (static_cast<unsigned>(rank) >= core_.members) [[unlikely]]
    return nullptr;
  Reach& t = core_.at(rank);
  // A negative displacement is too large as well.
  const bool over = __builtin_mul_overflow(static_cast<std::uint64_t>(disp), t.unit, &offset);
  if ((t.access | core_.all) == 0 || !t.plain || over || bytes > t.size || offset > t.size - bytes) [[unlikely]]
    return nullptr;
  core_.fence_used = true;
  return &t;
}

[[gnu::always_inline]] inline bool Window::put_now(const void* from, std::uint64_t bytes, int rank, std::int64_t disp) {
  std::uint64_t offset;
  const Reach* t = plainly(rank, disp, bytes, offset);
  if (!t) return false;
  core_.domain.stores();
  store_once(t->base + offset, from, bytes);
  return true;
}

[[gnu::always_inline]] inline bool Window::get_now(void* to, std::uint64_t bytes, int rank, std::int64_t disp) {
  std::uint64_t offset;
  const Reach* t = plainly(rank, disp, bytes, offset);
  if (!t) return false;
  core_.domain.order_loads();
  copy_bytes(to, t->base + offset, bytes);
  return true;
}

[[gnu::always_inline]] inline bool Window::combine_now(ReduceOp op, Basic basic, const void* in, void* before, int rank,
                                                       std::int64_t disp) {
  if (op != ReduceOp::sum && op != ReduceOp::replace && op != ReduceOp::no_op) return false;
  return with_number(
      basic, [&]<class T>(std::type_identity<T>) __attribute__((always_inline)) {
        std::uint64_t offset;
        const Reach* t = plainly(rank, disp, sizeof(T), offset);
        if (!t) return false;
        if (before) core_.domain.order_loads();
        const ElementGuard guard(*t, offset, sizeof(T), core_.me);
        if (!guard) return false;
        T mine{}, theirs;
        if (op != ReduceOp::no_op) std::memcpy(&mine, in, sizeof mine);
        std::memcpy(&theirs, t->base + offset, sizeof theirs);
        if (op != ReduceOp::no_op) {  // which stores nothing: the owner may store there meanwhile
          const T result = op == ReduceOp::sum ? static_cast<T>(mine + theirs) : mine;
          std::memcpy(t->base + offset, &result, sizeof result);
          core_.domain.stores();
        }
        if (before) std::memcpy(before, &theirs, sizeof theirs);
        return true;
      });
}

[[gnu::always_inline]] inline bool Window::swap_now(Basic basic, const void* value, const void* compare, void* before,
                                                    int rank, std::int64_t disp) {
  return with_number(
      basic, [&]<class T>(std::type_identity<T>) __attribute__((always_inline)) {
        if constexpr (!std::is_integral_v<T>) {
          return false;
        } else {
          std::uint64_t offset;
          const Reach* t = plainly(rank, disp, sizeof(T), offset);
          if (!t) return false;
          core_.domain.order_loads();
          const ElementGuard guard(*t, offset, sizeof(T), core_.me);
          if (!guard) return false;
          T found, expected;
          std::memcpy(&found, t->base + offset, sizeof found);
          std::memcpy(&expected, compare, sizeof expected);
          if (found == expected) std::memcpy(t->base + offset, value, sizeof(T));
          std::memcpy(before, &found, sizeof found);
          core_.domain.stores();
          return true;
        }
      });
}

// A flush of a direct target has nothing to wait for. Now and then the long way polls, too.
[[gnu::always_inline]] inline bool Window::flush_now(int rank) {
  if (static_cast<unsigned>(rank) >= core_.members) [[unlikely]]
    return false;
  const Reach& t = core_.at(rank);
  if ((t.access & (access::lock | access::lock_all)) == 0 || !t.direct ||
      (core_.calls + 1) % WindowCore::kCallsPerPoll == 0) [[unlikely]]
    return false;
  ++core_.calls;
  std::atomic_thread_fence(std::memory_order_release);
  return true;
}

}  // namespace rmq::rma
