// SPDX-License-Identifier: BSD-3-Clause
// Chapters 9.10 and 9.11: waiting and testing, locks.
#include <atomic>
#include <cstdint>

#include "shmem/call.hpp"
#include "shmem/queue_lock.hpp"
#include "shmem/transfer.hpp"
#include "shmem/wait.hpp"
#define RMQ_SHMEM_NO_OVERLOADS
#include "shmem/include/shmem.h"

namespace rmq::shmem {
namespace {

template <class T>
bool holds(const volatile T* ivar, int cmp, T value) {
  const T now = look(ivar);
  switch (cmp) {
    case SHMEM_CMP_EQ:
      return now == value;
    case SHMEM_CMP_NE:
      return now != value;
    case SHMEM_CMP_GT:
      return now > value;
    case SHMEM_CMP_LE:
      return now <= value;
    case SHMEM_CMP_LT:
      return now < value;
    default:
      return now >= value;
  }
}

void check_cmp(const mpi::Function& f, int cmp) {
  if (world().size == 0) refuse(f);
  if (cmp < SHMEM_CMP_EQ || cmp > SHMEM_CMP_GE) die(f, "the comparison is none of SHMEM_CMP_EQ and its like");
}

template <class T>
void wait_one(const mpi::Function& f, const volatile T* ivar, int cmp, T value) {
  check_cmp(f, cmp);
  await(f, {const_cast<const T*>(ivar), cmp, static_cast<std::uint64_t>(value), 1},
        [&] { return holds(ivar, cmp, value); });
}

/// Several words: one value for all, or (`step` 1) each its own. Those whose status is not 0 are left out.
template <class T>
struct Words {
  const volatile T* ivars;
  std::size_t count;
  const int* status;
  int cmp;
  const T* values;
  std::size_t step;

  bool counts(std::size_t i) const { return !status || status[i] == 0; }
  bool holds_at(std::size_t i) const { return holds(ivars + i, cmp, values[i * step]); }
  bool is_empty() const {
    for (std::size_t i = 0; i < count; ++i)
      if (counts(i)) return false;
    return true;
  }
  bool all() const {
    for (std::size_t i = 0; i < count; ++i)
      if (counts(i) && !holds_at(i)) return false;
    return true;
  }
  /// One, or SIZE_MAX. The search goes on behind what was found last, so that each comes in turn. Relaxed: threads that
  /// take each other's turn do no harm.
  std::size_t any() const {
    static std::atomic<std::size_t> last{0};
    const std::size_t from = last.load(std::memory_order_relaxed);
    for (std::size_t k = 1; k <= count; ++k) {
      const std::size_t i = (from + k) % count;
      if (!counts(i) || !holds_at(i)) continue;
      last.store(i, std::memory_order_relaxed);
      return i;
    }
    return SIZE_MAX;
  }
  std::size_t some(std::size_t* indices) const {
    std::size_t n = 0;
    for (std::size_t i = 0; i < count; ++i)
      if (counts(i) && holds_at(i)) indices[n++] = i;
    return n;
  }
  WaitsFor told() const {
    return {const_cast<const T*>(ivars), cmp, count ? static_cast<std::uint64_t>(values[0]) : 0, count};
  }
};

template <class T>
void wait_all(const Words<T>& w) {
  check_cmp(fn::wait_until_all, w.cmp);
  await(fn::wait_until_all, w.told(), [&] { return w.all(); });
}
template <class T>
std::size_t wait_any(const Words<T>& w) {
  check_cmp(fn::wait_until_any, w.cmp);
  if (w.is_empty()) return SIZE_MAX;
  std::size_t found = SIZE_MAX;
  await(fn::wait_until_any, w.told(), [&] { return (found = w.any()) != SIZE_MAX; });
  return found;
}
template <class T>
std::size_t wait_some(const Words<T>& w, std::size_t* indices) {
  check_cmp(fn::wait_until_some, w.cmp);
  if (w.is_empty()) return 0;
  std::size_t found = 0;
  await(fn::wait_until_some, w.told(), [&] { return (found = w.some(indices)) != 0; });
  return found;
}

/// What a test has found; where it is nothing, messages get a chance to bring it.
template <class R>
R tested(R found, bool good) {
  if (!good) detail::test_failed(fn::test);
  return found;
}
template <class T>
int test_all(const Words<T>& w) {
  check_cmp(fn::test, w.cmp);
  const bool all = w.all();
  return tested<int>(all, all);
}
template <class T>
std::size_t test_any(const Words<T>& w) {
  check_cmp(fn::test, w.cmp);
  const std::size_t found = w.any();
  return tested(found, found != SIZE_MAX);
}
template <class T>
std::size_t test_some(const Words<T>& w, std::size_t* indices) {
  check_cmp(fn::test, w.cmp);
  const std::size_t found = w.some(indices);
  return tested(found, found != 0);
}

// ---- locks ----

/// As a lock reaches the PEs (QueueLock), in the call `f`.
struct Pes {
  const mpi::Function& f;

  std::uint32_t swap(std::uint32_t* word, std::uint32_t value, int pe) const {
    return fetch_amo<Amo::swap>(f, SHMEM_CTX_DEFAULT, word, value, pe);
  }
  [[gnu::always_inline]] std::uint32_t compare_swap(std::uint32_t* word, std::uint32_t cond, std::uint32_t value,
                                                    int pe) const {
    std::uint32_t before = 0;
    shmem::compare_swap(f, SHMEM_CTX_DEFAULT, &before, word, cond, value, pe, Wait::local);
    return before;
  }
  void set_bits(std::uint32_t* word, std::uint32_t bits, int pe) const {
    amo<Amo::bor>(f, SHMEM_CTX_DEFAULT, word, bits, pe);
  }
  template <class Done>
  void await(const std::uint32_t* word, Done&& done) const {
    shmem::await(f, {word, 0, 0, 1}, done);
  }
};

/// The lock, whose home is one PE or another by its address.
QueueLock<const Pes> lock_of(const Pes& pes, volatile long* lock) {
  const World& w = world();
  if (w.size == 0) refuse(pes.f);
  // Addresses may differ from PE to PE, offsets do not.
  const std::uintptr_t offset = reinterpret_cast<std::uintptr_t>(lock) - w.heap_begin;
  const int home = offset < w.heap_bytes ? static_cast<int>(offset / sizeof(long) % w.size) : 0;
  return {pes, lock, w.me, home};
}

}  // namespace

RMQ_SHMEM(void, set_lock, (volatile long* lock)) {
  const Pes pes{fn::set_lock};
  lock_of(pes, lock).set();
}

RMQ_SHMEM(int, test_lock, (volatile long* lock)) {
  const Pes pes{fn::test_lock};
  return lock_of(pes, lock).test() ? 0 : 1;
}

// What was written under the lock is there before the next one has it.
RMQ_SHMEM(void, clear_lock, (volatile long* lock)) {
  const Pes pes{fn::clear_lock};
  auto l = lock_of(pes, lock);
  pshmem_quiet();
  if (!l.clear()) die(fn::clear_lock, "this PE does not hold the lock");
}

#define RMQ_SHMEM_SEVERAL(N, T, suffix, value_parameter, first, step)                                             \
  RMQ_SHMEM(void, N##_wait_until_all##suffix,                                                                     \
            (volatile T * ivars, size_t nelems, const int* status, int cmp, value_parameter)) {                   \
    wait_all<T>({ivars, nelems, status, cmp, first, step});                                                       \
  }                                                                                                               \
  RMQ_SHMEM(size_t, N##_wait_until_any##suffix,                                                                   \
            (volatile T * ivars, size_t nelems, const int* status, int cmp, value_parameter)) {                   \
    return wait_any<T>({ivars, nelems, status, cmp, first, step});                                                \
  }                                                                                                               \
  RMQ_SHMEM(size_t, N##_wait_until_some##suffix,                                                                  \
            (volatile T * ivars, size_t nelems, size_t * indices, const int* status, int cmp, value_parameter)) { \
    return wait_some<T>({ivars, nelems, status, cmp, first, step}, indices);                                      \
  }                                                                                                               \
  RMQ_SHMEM(int, N##_test_all##suffix,                                                                            \
            (volatile T * ivars, size_t nelems, const int* status, int cmp, value_parameter)) {                   \
    return test_all<T>({ivars, nelems, status, cmp, first, step});                                                \
  }                                                                                                               \
  RMQ_SHMEM(size_t, N##_test_any##suffix,                                                                         \
            (volatile T * ivars, size_t nelems, const int* status, int cmp, value_parameter)) {                   \
    return test_any<T>({ivars, nelems, status, cmp, first, step});                                                \
  }                                                                                                               \
  RMQ_SHMEM(size_t, N##_test_some##suffix,                                                                        \
            (volatile T * ivars, size_t nelems, size_t * indices, const int* status, int cmp, value_parameter)) { \
    return test_some<T>({ivars, nelems, status, cmp, first, step}, indices);                                      \
  }

#define RMQ_SHMEM_ONE(N, T, X)                                             \
  RMQ_SHMEM(void, N##_wait_until, (volatile T * ivar, int cmp, T value)) { \
    wait_one<T>(fn::wait_until, ivar, cmp, value);                         \
  }                                                                        \
  RMQ_SHMEM(int, N##_test, (volatile T * ivar, int cmp, T value)) {        \
    return test_all<T>({ivar, 1, nullptr, cmp, &value, 0});                \
  }                                                                        \
  RMQ_SHMEM_SEVERAL(N, T, , T value, &value, 0)                            \
  RMQ_SHMEM_SEVERAL(N, T, _vector, const T* values, values, 1)
RMQ_SHMEM_SYNC(RMQ_SHMEM_ONE, )
#undef RMQ_SHMEM_ONE

#define RMQ_SHMEM_ONE(N, T, X)                              \
  RMQ_SHMEM(void, N##_wait, (volatile T * ivar, T value)) { \
    wait_one<T>(fn::wait_until, ivar, SHMEM_CMP_NE, value); \
  }
RMQ_SHMEM_SYNC_OLD(RMQ_SHMEM_ONE, )
#undef RMQ_SHMEM_ONE
RMQ_SHMEM(void, wait, (volatile long* ivar, long value)) {
  wait_one<long>(fn::wait_until, ivar, SHMEM_CMP_NE, value);
}
RMQ_SHMEM(void, wait_until, (volatile long* ivar, int cmp, long value)) {
  wait_one<long>(fn::wait_until, ivar, cmp, value);
}

RMQ_SHMEM(std::uint64_t, signal_wait_until, (std::uint64_t * sig_addr, int cmp, std::uint64_t value)) {
  check_cmp(fn::signal_wait_until, cmp);
  std::uint64_t seen = 0;
  await(fn::signal_wait_until, {sig_addr, cmp, value, 1}, [&] {
    seen = look(sig_addr);
    return holds(&seen, cmp, value);
  });
  return seen;
}

}  // namespace rmq::shmem
