// SPDX-License-Identifier: BSD-3-Clause
// A cache line fetched to be written.
#pragma once

namespace rmq::os {

/// Begins to make the cache line at `line`, which other CPUs may have, this CPU's own. A hint: it takes no part in what
/// is written, and any address may stand there.
inline void own_line(const void* line) {
#if defined(__x86_64__)
  // Without -mprfchw __builtin_prefetch(line, 1) fetches a shared copy, which a store has to ask for again. CPUs that
  // lack the instruction do nothing.
  asm volatile("prefetchw %0" : : "m"(*static_cast<const char*>(line)));
#else
  __builtin_prefetch(line, 1);
#endif
}

}  // namespace rmq::os
