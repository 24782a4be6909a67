// SPDX-License-Identifier: BSD-3-Clause
// One copy between the memories of two processes, done by the kernel (process_vm_readv, process_vm_writev).
#pragma once

#include <sys/types.h>

#include <cstdint>

#include "base/data/data_view.hpp"

namespace rmq::shm {

/// What a copy achieved. error: errno of the call that stopped it, 0 when all bytes moved.
struct Copied {
  std::uint64_t bytes = 0;
  int error = 0;
};

/// Whether the kernel lets this process read `pid`: reads the word at `address` there and compares. A wrong pid
/// (another namespace) shows as a wrong word.
bool probe_single_copy(pid_t pid, std::uint64_t address, std::uint64_t word);

/// Whether a single copy is the fastest way when both ranks have time to copy: the kernel's way through the page tables
/// costs more on some machines than the second copy of the ring. Measured once in a process, in about 50 us.
bool single_copy_is_fast();

/// Copies from [address, address + bytes) in `pid` to [offset, offset + bytes) of `into`, packed order.
Copied copy_from(pid_t pid, std::uint64_t address, const DataView& into, std::uint64_t offset, std::uint64_t bytes);

/// The same towards `pid`.
Copied copy_to(pid_t pid, std::uint64_t address, const DataView& from, std::uint64_t offset, std::uint64_t bytes);

}  // namespace rmq::shm
