// SPDX-License-Identifier: BSD-3-Clause
// What a window is made from: the same in every member but for memory and size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "base/rank.hpp"
#include "base/ranks.hpp"

namespace rmq::rma {

enum class Flavor : std::uint8_t { create, allocate, shared, dynamic };

/// The assertions of the synchronisation calls; bits of an unsigned.
namespace assertion {
inline constexpr unsigned nocheck = 1, nostore = 2, noput = 4, noprecede = 8, nosucceed = 16;
}

/// What the info keys of MPI-4.0 section 12.2 promise; each must be the same in every member.
struct Hints {
  bool no_locks = false;        // no passive target: no agent; a lock works nevertheless, while its target is in calls
  bool same_size = false;       // open() takes back what is not so
  bool same_disp_unit = false;  // open() takes back what is not so
  bool same_op_no_op = true;    // accumulate_ops: same_op_no_op (the default) or same_op
  bool ordered = true;          // accumulate_ordering: anything but `none`; order is kept in either case
  bool noncontiguous = false;   // alloc_shared_noncontig
  /// mpi_accumulate_granularity: accumulates to other ranges of so many bytes shall not get into each other's way; 0:
  /// as suits long ones.
  std::uint64_t granularity = 0;
  /// mpi_minimum_memory_alignment of memory that the window allocates: bytes, a power of two; a page at most where it
  /// is shared as a whole.
  std::uint64_t alignment = 1;
  /// Others reach the memory by loads, stores and CPU atomics of their own: accumulates of numbers of 4 and 8 bytes are
  /// CPU atomics as well, element by element, and take no mutexes.
  bool cpu_atomics = false;
  /// What one origin issues to one target, puts and gets too, is done behind what it issued there before: MPI asks for
  /// that of accumulates alone.
  bool in_order = false;
};

struct WindowOptions {
  /// Names the window on the wire: a number that no other window of any of its members has from the first member's
  /// prepare() to the last one's end. (The context of a communicator that the window has for itself serves.)
  std::uint32_t id = 0;
  Flavor flavor = Flavor::create;
  Ranks ranks;                  // world ranks of the members, in the order of the window's group
  int me = 0;                   // my place among them
  void* base = nullptr;         // create: the caller's memory; ignored else
  std::uint64_t size = 0;       // bytes of my memory; ignored for dynamic
  std::uint64_t disp_unit = 1;  // bytes, at least 1; 1 for dynamic
  Hints hints;
  /// shared without `noncontiguous`: the sizes of all members, in their order; ignored else. (One more gather before
  /// prepare(): the first member allocates for all.)
  std::vector<std::uint64_t> sizes;
  /// Hears, if set, of a member that is lost, and whether operations of ours on it were under way; the device held. It
  /// may end the process.
  std::function<void(Rank world, bool under_way)> on_lost;
};

}  // namespace rmq::rma
