// SPDX-License-Identifier: BSD-3-Clause
// Where a debugger finds a rank's queues: addresses and offsets, so that it needs no debug information and no build of
// ours. The rank fills one in (engine/life/debug.cpp, symbol rmq_debug_root); tools/debug/msgq.cpp reads it out of the
// stopped process.
#pragma once

#include <cstdint>

namespace rmq {

struct DebugRoot {
  static constexpr char kMagic[8] = {'R', 'M', 'Q', 'D', 'B', 'G', '3', 0};

  char magic[8];            // zero until MPI_Init has ended
  std::uint32_t bytes;      // of this struct
  std::int32_t rank, size;  // in MPI_COMM_WORLD
  std::uint32_t spare;

  // The requests: `slabs` is the address of two pointers, begin and end of an array of pointers to slabs.
  std::uint64_t slabs;
  std::uint32_t slab_requests;  // of a slab
  std::uint32_t request_bytes;
  struct {  // offsets in a request
    std::uint32_t incomplete, kind, step, flags, match, peer, stamp, generation, base, view_bytes, packet, owned,
        owned_bytes;
  } request;

  // The communicators: two that are always there, and as `slabs` an array of pointers, some of them null.
  std::uint64_t world, self, comms;
  struct {  // offsets in a communicator; and in a group, of its world ranks: a list (its address), or null and a rule
    std::uint32_t context, recv_context, rank, group, remote, name, ranks_list, ranks_first, ranks_stride, ranks_size;
  } comm;
};

}  // namespace rmq
