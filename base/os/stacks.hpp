// SPDX-License-Identifier: BSD-3-Clause
// Memory for the stacks of fibers.
//
// A process has some 65,000 mappings (vm.max_map_count), which a stack with a guard page of its own would take two of.
// So stacks are cut from slabs: one mapping for sixty-four of them. The guard between two of them is a mark in the page
// table where the kernel has those (Linux 6.13); before, a protected page, which splits the mapping, and which only the
// first thousands get that are in use at once.
#pragma once

#include <cstddef>

namespace rmq::os {

/// Bytes of a stack.
inline constexpr std::size_t kStackBytes = 256 * 1024;

/// A stack; its lowest byte. Any thread. Throws std::bad_alloc.
std::byte* take_stack();
/// No longer needed: its memory goes back to the system. Any thread.
void give_stack(std::byte* stack);

}  // namespace rmq::os
