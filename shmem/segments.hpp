// SPDX-License-Identifier: BSD-3-Clause
// The symmetric memory of this PE: the heap, and the data (.data and .bss) of the executable and of the program's
// shared objects. All PEs have the same segments in the same order; a segment has a name that all PEs use on the wire
// (rma::Window::attach), so that it may lie at other addresses elsewhere. Data is the same where it belongs to the same
// object: that has the same build id, or, where it has none, the same code and constants.
//
// What other PEs of the host shall reach by loads and stores has to lie in a file that they can map. For the heap that
// is simple. Data is moved: its bytes go to such a file, which is then mapped where they were. That is done before the
// process has a second thread, and only if it has none; else data is reached by packets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "rma/window/host_memory.hpp"

namespace rmq::shmem {

struct Segment {
  static constexpr int kNameShift = 44;  // room for 16 TB in each

  std::byte* begin = nullptr;
  std::uint64_t bytes = 0;
  std::uint64_t identity = 0;             // of data: alike in all PEs that have the same; no two of one PE are alike
  std::shared_ptr<rma::HostMemory> file;  // that it lies in; null: nobody can map it
  std::uint64_t at = 0;                   // where it begins in there

  bool contains(const void* address) const {
    return reinterpret_cast<std::uintptr_t>(address) - reinterpret_cast<std::uintptr_t>(begin) < bytes;
  }
};
/// The name of the first byte of the `index`-th segment.
constexpr std::uint64_t segment_name(std::size_t index) {
  return static_cast<std::uint64_t>(index + 1) << Segment::kNameShift;
}

/// The data segments of the program, the executable's first: their addresses, sizes and identities. The libraries they
/// belong to stay loaded until the process ends.
std::vector<Segment> find_data();
/// Moves a data segment into a file, where it stays until the process ends. Nothing happens where that is impossible.
/// No other thread may run. A child that the process forks later has a copy of its own, made page by page before the
/// fork, behind the program's own fork handlers: what is written meanwhile by a thread that holds none of the locks
/// which these take, or by another PE, is in the copy in part.
void share_data(Segment& data);

/// Where a heap may lie in all PEs: the `attempt`-th address to try; null: any will do, there are no more.
void* heap_address(int attempt);
/// A heap is aligned to this in each PE, also where they have it at different addresses: the places in it are then
/// aligned alike in all.
inline constexpr std::uint64_t kHeapAlignment = std::uint64_t{1} << 30;
/// A heap of `bytes` bytes at that address, or at any that is a multiple of kHeapAlignment, behind `control` bytes.
/// Without a file when the address is taken, or the system gives none.
Segment open_heap(std::uint64_t bytes, std::uint64_t control, void* address);

/// "1.5G" and the like as OpenSHMEM writes sizes; nothing when it is none.
std::optional<std::uint64_t> parse_size(const std::string& text);

}  // namespace rmq::shmem
