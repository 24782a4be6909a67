// SPDX-License-Identifier: BSD-3-Clause
// How fast an idle rank looks at a memory line that another core will write.
//
// A reader that looks as fast as it can takes the line back while the writer is still acquiring it, and each such theft
// costs the writer a cache-line transfer. With some 10 ns between two looks the transfer is rarely disturbed: one-way
// latency fell from 155 to 100 ns where this was tuned (design/shm.md). `pause` is no substitute: its length differs by
// an order of magnitude between CPUs.
#pragma once

#include <cstdint>

#ifndef RMQ_PACE
#define RMQ_PACE 4
#endif

namespace rmq::os {

/// Takes about 10 ns more than what stands around it. `state` is any word of the caller's, passed from call to call: it
/// chains the calls, else the CPU would run several at once.
inline void pace(std::uint64_t& state) {
  std::uint64_t word = state;
  for (int i = 0; i < RMQ_PACE; ++i) {
    word *= 0x9e3779b97f4a7c15u;  // 3 to 4 cycles each, one after the other
    asm volatile("" : "+r"(word));
  }
  state = word;
}

}  // namespace rmq::os
