// SPDX-License-Identifier: BSD-3-Clause
// How a collective of a team is run: by an algorithm of engine/coll/, or directly, where all of its PEs reach each
// other's memory.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/coll/later.hpp"
#include "shmem/call.hpp"
#include "shmem/context.hpp"
#include "shmem/team.hpp"

namespace rmq::shmem {

namespace coll = mpi::coll;

/// Runs an algorithm of engine/coll/; the device held.
template <class... P, class... A>
void run(Team& t, int (*algorithm)(mpi::Comm&, P...), const A&... arguments) {
  if (const int code = coll::Now{}(*t.comm, algorithm, arguments...); code != MPI_SUCCESS)
    mpi::fail_call(code, fmt::format("a PE of {} is lost, or has come with other arguments", t.comm->name));
}

inline coll::Blocks blocks(const void* base, std::size_t bytes) {
  return coll::Blocks::uniform(base, static_cast<MPI_Count>(bytes), coll::byte_type());
}

// ---- directly: direct.cpp ----
//
// Each PE copies, or combines, what it needs straight from where the others' data lies: a copy of each byte less than
// by messages, and no ring between. The members meet twice. First each tells where its data lies (`meet`), and they
// come to the same conclusion whether all can be reached; behind the second meeting sources may be changed again. That
// is all the order there is: what a member did before a meeting happens before what any does behind it, for that one
// has heard, at whatever number of hands, what the first has said, and each hand acquires and releases.

/// Whether it pays for so many bytes at each PE. All members of the team must ask for the same number.
bool may_be_direct(Team& t, std::size_t bytes);

/// What each member says of itself.
struct Brought {
  std::uint64_t source = 0, dest = 0;  // names of its data (Segment), 0: nobody can map it
  std::uint64_t bytes = 0;             // of its source
};
/// What all say, by their number in the team. Of this PE's data: source and destination, the source's length.
std::vector<Brought> meet(Team& t, const void* source, const void* dest, std::size_t bytes);
/// Ends the job unless all have brought the same length.
void check_alike(const Team& t, std::span<const Brought> all);
/// Whether the sources of all, or their destinations, can be reached.
bool sources_reached(std::span<const Brought> all);
bool dests_reached(std::span<const Brought> all);
/// Whether nobody writes, in its destination of `bytes` bytes, to what others read from its source. `in_place`: where
/// the source of each has its place there, one behind the other, it may be.
bool sources_apart(std::span<const Brought> all, std::uint64_t bytes, bool in_place);

/// Behind a meeting in which the root's source is reached, or all sources, or both. They end with the second one.
void broadcast_directly(Team& t, std::span<const Brought> all, void* dest, std::size_t bytes, int root);
/// The members' sources one behind the other.
void collect_directly(Team& t, std::span<const Brought> all, void* dest);
/// `bytes` bytes for each member in each source.
void alltoall_directly(Team& t, std::span<const Brought> all, void* dest, std::size_t bytes);
/// Behind one in which all sources and destinations are reached, each member's own the same or apart.
void reduce_directly(Team& t, std::span<const Brought> all, const coll::Reduction& r);
/// Sums of the members before, and (`inclusive`) of the member itself.
void scan_directly(Team& t, std::span<const Brought> all, const coll::Reduction& r, bool inclusive);

}  // namespace rmq::shmem
