// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "base/data/copy.hpp"
#include "engine/coll/combine.hpp"
#include "shmem/collective.hpp"

namespace rmq::shmem {
namespace {

constexpr std::size_t kLeast = 8192;   // bytes at each PE, from which on two meetings cost less than messages
constexpr std::size_t kPiece = 16384;  // bytes that are combined at a time: they stay in the first-level cache

constexpr std::size_t segment_of(std::uint64_t name) {
  return (name >> Segment::kNameShift) - 1;
}

/// As members who map each other's segments may use it; 0: there are more segments than those.
std::uint64_t reachable(std::uint64_t name) {
  return name != 0 && segment_of(name) < Near::kSegments ? name : 0;
}

/// Where data of that name of a PE lies here.
std::byte* at(const Team& t, int member, std::uint64_t name) {
  const std::size_t segment = segment_of(name);
  return world().near[t.world_pe(member)].base[segment] + (name - segment_name(segment));
}

/// Whether this PE has all segments of that one which anybody has in a file.
bool reaches(int pe) {
  const World& w = world();
  const std::size_t count = std::min<std::size_t>(w.segments.size(), Near::kSegments);
  for (std::size_t i = 0; i < count; ++i)
    if (!w.near[pe].base[i]) return false;
  return true;
}

/// Each member combines its share of the vector for all, in the members' order: calls `piece` with where each piece
/// begins and its size, in bytes, and its elements. Nobody else reads that share of anybody's source, so a source may
/// be the destination.
template <class Piece>
void for_my_share(const Team& t, const coll::Reduction& r, Piece&& piece) {
  const auto members = static_cast<MPI_Count>(t.size());
  const auto width = static_cast<MPI_Count>(r.type.size);
  const MPI_Count most = static_cast<MPI_Count>(kPiece) / width;
  const MPI_Count until = r.count * (t.me() + 1) / members;
  for (MPI_Count from = r.count * t.me() / members; from < until; from += most) {
    const MPI_Count count = std::min(most, until - from);
    piece(static_cast<std::size_t>(from * width), static_cast<std::size_t>(count * width), count);
  }
}

}  // namespace

bool may_be_direct(Team& t, std::size_t bytes) {
  if (bytes < kLeast || t.size() == 1) return false;
  if (t.reach == Team::Reach::unknown) {
    bool all = true;
    for (int i = 0; i < t.size(); ++i) all = all && reaches(t.world_pe(i));
    if (!world().all_near) {  // which all have agreed on
      const int mine = all;
      int everybody = 0;
      run(t, coll::allreduce, static_cast<const void*>(&mine), static_cast<void*>(&everybody),
          coll::Reduction{*mpi::find_op(MPI_LAND), *mpi::find_datatype(MPI_INT), 1, *mpi::runtime().device});
      all = everybody != 0;
    }
    t.reach = all ? Team::Reach::all : Team::Reach::some;
  }
  return t.reach == Team::Reach::all;
}

std::vector<Brought> meet(Team& t, const void* source, const void* dest, std::size_t bytes) {
  std::vector<Brought> all(static_cast<std::size_t>(t.size()));
  const Brought mine{reachable(find_name(source, bytes)), reachable(find_name(dest, bytes)), bytes};
  run(t, coll::allgather, coll::raw(&mine, sizeof mine), blocks(all.data(), sizeof mine));
  return all;
}

void check_alike(const Team& t, std::span<const Brought> all) {
  if (std::ranges::any_of(all, [&](const Brought& b) { return b.bytes != all[0].bytes; }))
    coll::fail_truncated(*t.comm);
}

bool sources_apart(std::span<const Brought> all, std::uint64_t bytes, bool in_place) {
  std::uint64_t place = 0;
  for (const Brought& b : all) {
    const bool overlaps = b.source != 0 && b.dest != 0 && b.source < b.dest + bytes && b.dest < b.source + b.bytes;
    if (overlaps && !(in_place && b.source == b.dest + place)) return false;
    place += b.bytes;
  }
  return true;
}

bool sources_reached(std::span<const Brought> all) {
  return std::ranges::all_of(all, [](const Brought& b) { return b.source != 0 || b.bytes == 0; });
}

bool dests_reached(std::span<const Brought> all) {
  return std::ranges::all_of(all, [](const Brought& b) { return b.dest != 0; });
}

void broadcast_directly(Team& t, std::span<const Brought> all, void* dest, std::size_t bytes, int root) {
  if (t.me() != root) copy_bytes(dest, at(t, root, all[static_cast<std::size_t>(root)].source), bytes);
  run(t, coll::barrier);
}

void collect_directly(Team& t, std::span<const Brought> all, void* dest) {
  auto* to = static_cast<std::byte*>(dest);
  for (int i = 0; i < t.size(); ++i) {
    const Brought& b = all[static_cast<std::size_t>(i)];
    if (b.bytes != 0) copy_bytes(to, at(t, i, b.source), b.bytes);
    to += b.bytes;
  }
  run(t, coll::barrier);
}

void alltoall_directly(Team& t, std::span<const Brought> all, void* dest, std::size_t bytes) {
  const auto mine = static_cast<std::size_t>(t.me()) * bytes;
  for (int k = 0; k < t.size(); ++k) {
    const int i = (t.me() + k) % t.size();  // not all from the same one at once
    copy_bytes(static_cast<std::byte*>(dest) + static_cast<std::size_t>(i) * bytes,
               at(t, i, all[static_cast<std::size_t>(i)].source) + mine, bytes);
  }
  run(t, coll::barrier);
}

void reduce_directly(Team& t, std::span<const Brought> all, const coll::Reduction& r) {
  alignas(kCacheLine) std::byte result[kPiece];
  for_my_share(t, r, [&](std::size_t offset, std::size_t bytes, MPI_Count count) {
    copy_bytes(result, at(t, t.size() - 1, all.back().source) + offset, bytes);
    for (int i = t.size() - 2; i >= 0; --i)
      coll::combine(r, at(t, i, all[static_cast<std::size_t>(i)].source) + offset, result, count);
    for (int i = 0; i < t.size(); ++i)
      copy_bytes(at(t, i, all[static_cast<std::size_t>(i)].dest) + offset, result, bytes);
  });
  run(t, coll::barrier);
}

void scan_directly(Team& t, std::span<const Brought> all, const coll::Reduction& r, bool inclusive) {
  alignas(kCacheLine) std::byte sum[kPiece], own[kPiece];
  for_my_share(t, r, [&](std::size_t offset, std::size_t bytes, MPI_Count count) {
    std::memset(sum, 0, bytes);
    for (int i = 0; i < t.size(); ++i) {
      const Brought& b = all[static_cast<std::size_t>(i)];
      std::byte* const dest = at(t, i, b.dest) + offset;
      copy_bytes(own, at(t, i, b.source) + offset, bytes);
      if (!inclusive) copy_bytes(dest, sum, bytes);
      if (i == 0)
        copy_bytes(sum, own, bytes);  // and no sum with 0, which would make 0 of -0
      else
        coll::combine(r, own, sum, count);
      if (inclusive) copy_bytes(dest, sum, bytes);
    }
  });
  run(t, coll::barrier);
}

}  // namespace rmq::shmem
