// SPDX-License-Identifier: BSD-3-Clause
// The asymmetric fence: the store-then-load ordering of Dekker's protocol, with its whole cost on the side that is
// rare.
//
// Two sides each store one word and then load the other's. At least one of them must see the other's store:
//
//     sender (each message)             sleeper (rarely)
//     publish a packet                  announce "I sleep"
//     light_fence                       heavy_fence
//     load "does it sleep?"             look for packets once more
//
// A CPU may let a load overtake an earlier store, so both sides need a full fence. heavy_fence() makes the kernel run
// one on every CPU that executes a registered process at that moment (membarrier; a process that is not executing
// passed a full fence when it was switched out). Somewhere in the sender's program order it lands. If the publication
// stands before that point, the sleeper's look, which comes later, sees it. If it stands behind, so does the sender's
// load, which then sees the announcement. The sender needs only to keep its compiler from swapping store and load.
#pragma once

#include "base/os/atomic.hpp"

namespace rmq::os {

/// Lets other processes' heavy_fence() act on this one, and finds out whether this one may call it. Idempotent and
/// cheap (one or two system calls). False where the kernel has no membarrier, or where a sandbox forbids it, and under
/// ThreadSanitizer; then every process that shares the protocol must use full fences on both sides.
bool register_asymmetric_fence();

/// The sender's side. `asymmetric`: both sides have registered.
inline void light_fence(bool asymmetric) {
  if (asymmetric) [[likely]] {
    compiler_fence();
  } else {
    thread_fence(std::memory_order_seq_cst);
  }
}

/// The sleeper's side; some microseconds when asymmetric.
void heavy_fence(bool asymmetric);

}  // namespace rmq::os
