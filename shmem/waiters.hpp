// SPDX-License-Identifier: BSD-3-Clause
// A PE that waits for what others change in its memory, and those who change it. A call looks a while, then polls, and
// sleeps like any call of MPI; whoever changes the memory of a PE that says it may sleep wakes it:
//
//     who stores                        who waits, the device held
//     store                             arm(): asleep = 1, heavy fence
//     light fence                         waiters += 1, heavy fence, once in a wait
//     waiters != 0: wake                  look
//       light fence, asleep: ring       sleep, and from the top
//
// Either the heavy fence lands behind the store (in the order of the one who stores), then the look sees it; or before
// it, then the two loads behind the store see what the waiter has written before. The first time that holds of the
// fence behind `waiters`, later of the one behind `asleep`, for `waiters` stays. So a store costs one load more, of a
// line that hardly ever changes. What comes by packets wakes the one who sleeps as any packet does, and what another
// thread of the PE has changed makes the threads that sleep look once more.
#pragma once

#include <cstdint>

#include "adi/device.hpp"
#include "base/os/atomic.hpp"
#include "base/os/fence.hpp"

namespace rmq::shmem {

/// At the begin of each PE's heap file: what other PEs of the host look at. `asymmetric`, the same for all: of the
/// fence between those who store and those who fall asleep (os::register_asymmetric_fence).
class Control {
 public:
  /// After a store to memory of the PE: whether it is to be woken (Device::wake). Any PE's threads.
  [[gnu::always_inline]] bool has_waiters(bool asymmetric) const {
    os::light_fence(asymmetric);
    return waiters_.load(std::memory_order_relaxed) != 0;  // relaxed: the fence orders
  }
  /// From now on a call of the PE may sleep unless it finds what it waits for.
  void announce(bool asymmetric) {
    waiters_.fetch_add(1, std::memory_order_relaxed);  // relaxed: the fence orders
    os::heavy_fence(asymmetric);
  }
  /// It sleeps no more. Relaxed: who sees it later wakes the PE in vain.
  void withdraw() { waiters_.fetch_sub(1, std::memory_order_relaxed); }

 private:
  /// Calls of the PE that wait for its own memory and may sleep.
  Atomic<std::uint32_t> waiters_{0};
};

/// Returns when `done()` is true; the device held. It looks at this PE's memory, which `control` is of, with acquire,
/// and may be called by any thread that holds the device.
template <class Done>
void wait_for_stores(adi::Device& device, Control& control, bool asymmetric, adi::Awaited what, Done&& done) {
  bool announced = false;
  auto come = [&]() -> bool {
    if (!announced) {
      announced = true;
      control.announce(asymmetric);
    }
    return done();
  };
  while (!done()) {
    const adi::Watch watch(device.watches(), come);
    device.MPID_Poll(true, what);
  }
  if (announced) control.withdraw();
  device.waited();
}

}  // namespace rmq::shmem
