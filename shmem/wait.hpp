// SPDX-License-Identifier: BSD-3-Clause
// Waiting for what others change in this PE's memory. A call looks a while, then polls, and sleeps: waiters.hpp.
#pragma once

#include "base/os/atomic.hpp"
#include "engine/call/function.hpp"
#include "shmem/world.hpp"

namespace rmq::shmem {

/// What a call waits for, for reports.
struct WaitsFor {
  const void* address;
  int cmp;              // SHMEM_CMP_…; 0: for a lock
  std::uint64_t value;  // as an unsigned number
  std::size_t count;    // words that it looks at
};

namespace detail {
/// Returns when `done(what)` is true.
void await_long(const mpi::Function& f, const WaitsFor& waits, bool (*done)(void*), void* what);
void test_failed(const mpi::Function& f);
int looks_before_poll();
}  // namespace detail

/// Returns when done() is true. It looks at this PE's memory with acquire, and is called with and without the device
/// held.
template <class Done>
void await(const mpi::Function& f, const WaitsFor& waits, Done&& done) {
  if (done()) return;
  for (int looks = detail::looks_before_poll(); looks > 0; --looks) {
    os::relax();
    if (done()) return;
  }
  detail::await_long(
      f, waits, [](void* what) -> bool { return (*static_cast<std::remove_reference_t<Done>*>(what))(); }, &done);
}

}  // namespace rmq::shmem
