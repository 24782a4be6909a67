// SPDX-License-Identifier: BSD-3-Clause
// Chapters 9.1 to 9.3: start and end, who is who, the symmetric heap.
#include <fmt/format.h>

#include <bit>
#include <cstring>

#include "engine/coll/coll.hpp"
#include "shmem/call.hpp"
#include "shmem/context.hpp"
#include "shmem/team.hpp"
#define RMQ_SHMEM_NO_OVERLOADS
#include "shmem/include/shmem.h"

namespace rmq::shmem {
namespace {

int n_pes() {
  if (world().size == 0) refuse("shmem_n_pes");
  return static_cast<int>(world().size);
}
int my_pe() {
  if (world().size == 0) refuse("shmem_my_pe");
  return world().me;
}

// ---- the heap; the device held ----

// As shmem_barrier_all: what was put before is complete, so that memory which is given again is nobody's target.
void meet() {
  settle();
  mpi::coll::barrier(*world().comm);
}

// With SHMEM_DEBUG: calls that PEs make with different arguments spoil the heap's symmetry.
void check_alike(const mpi::Function& f, std::uint64_t word) {
  if (!world().debug) return;
  std::array<std::uint64_t, 2> words{word, ~word};
  mpi::and_all(mpi::whole_party(*world().comm), words);
  if ((words[0] | words[1]) != ~std::uint64_t{0}) die(f, fmt::format("not all PEs have called it with {}", word));
}

// Pages are the system's only from here on: a heap that is larger than memory is an error where it is used up. Others
// may have pages left, but what is given must be given in all PEs: none has it where one has not.
bool reserve(std::uint64_t end) {
  constexpr std::uint64_t kStep = 2 * 1024 * 1024;
  World& w = world();
  if (end <= w.reserved) return true;
  const std::uint64_t to = std::min((end + kStep - 1) / kStep * kStep, w.heap_bytes);
  const Segment& heap = w.segments[0];
  if (!all_say(heap.file->reserve(heap.at + w.reserved, to - w.reserved))) return false;
  w.reserved = to;
  return true;
}

std::optional<std::uint64_t> take(std::size_t bytes, std::size_t alignment) {
  World& w = world();
  const auto offset = w.heap->take(bytes, alignment);
  if (!offset || reserve(*offset + bytes)) return offset;
  w.heap->give(*offset);
  return std::nullopt;
}

void* at(std::uint64_t offset) {
  return world().segments[0].begin + offset;
}

std::uint64_t offset_of(const mpi::Function& f, const void* p) {
  const auto offset = reinterpret_cast<std::uintptr_t>(p) - world().heap_begin;
  if (!world().heap->size_of(offset)) die(f, fmt::format("{} is not from shmem_malloc, or has been freed", p));
  return offset;
}

void* allocate(const mpi::Function& f, std::size_t bytes, std::size_t alignment, bool zero) {
  return enter(f, [&]() -> void* {
    check_alike(f, bytes);
    if (bytes == 0) return nullptr;
    const auto offset = take(bytes, alignment);
    if (!offset) return nullptr;  // nowhere
    if (zero) std::memset(at(*offset), 0, bytes);
    meet();
    return at(*offset);
  });
}

}  // namespace

RMQ_SHMEM(void, init, (void)) {
  start(SHMEM_THREAD_SINGLE);
}

RMQ_SHMEM(int, init_thread, (int requested, int* provided)) {
  static_assert(SHMEM_THREAD_SINGLE == MPI_THREAD_SINGLE && SHMEM_THREAD_MULTIPLE == MPI_THREAD_MULTIPLE);
  if (requested < SHMEM_THREAD_SINGLE || requested > SHMEM_THREAD_MULTIPLE) return 1;
  const int level = start(requested);
  if (provided) *provided = level;
  return 0;
}

RMQ_SHMEM(void, query_thread, (int* provided)) {
  if (world().size == 0) refuse("shmem_query_thread");
  *provided = mpi::runtime().thread_level;
}

RMQ_SHMEM(void, query_initialized, (int* initialized)) {
  *initialized = world().is_active();
}

RMQ_SHMEM(void, finalize, (void)) {
  if (world().is_active()) leave();
}

RMQ_SHMEM(void, global_exit, (int status)) {
  if (world().size == 0) refuse(fn::global_exit);
  // No Entry: another thread may hold the device for ever.
  mpi::Runtime& rt = mpi::runtime();
  rt.device->MPID_Abort(status, fmt::format("shmem_global_exit was called with status {}", status), Blame::itself);
}

RMQ_SHMEM(int, my_pe, (void)) {
  return my_pe();
}
RMQ_SHMEM(int, n_pes, (void)) {
  return n_pes();
}
extern "C" RMQ_EXPORT int _my_pe(void) {
  return my_pe();
}
extern "C" RMQ_EXPORT int _num_pes(void) {
  return n_pes();
}
// Once is as good as several times: no shmem_finalize belongs to each.
extern "C" RMQ_EXPORT void start_pes(int) {
  if (!world().is_active()) start(SHMEM_THREAD_SINGLE);
}

RMQ_SHMEM(int, pe_accessible, (int pe)) {
  return static_cast<unsigned>(pe) < world().size;
}

RMQ_SHMEM(int, addr_accessible, (const void* addr, int pe)) {
  return static_cast<unsigned>(pe) < world().size && is_symmetric(addr);
}

RMQ_SHMEM(void*, ptr, (const void* dest, int pe)) {
  if (static_cast<unsigned>(pe) >= world().size) return nullptr;
  return near(dest, pe);
}

RMQ_SHMEM(void*, team_ptr, (shmem_team_t team, const void* dest, int pe)) {
  if (team == SHMEM_TEAM_INVALID) return nullptr;
  const Team& t = team_of("shmem_team_ptr", team);
  return pe < 0 || pe >= t.size() ? nullptr : near(dest, t.world_pe(pe));
}

// For profiling libraries, which define it.
RMQ_SHMEM(void, pcontrol, (int, ...)) {}

RMQ_SHMEM(void, info_get_version, (int* major, int* minor)) {
  *major = SHMEM_MAJOR_VERSION;
  *minor = SHMEM_MINOR_VERSION;
}

RMQ_SHMEM(void, info_get_name, (char* name)) {
  static_assert(sizeof SHMEM_VENDOR_STRING <= SHMEM_MAX_NAME_LEN);
  std::strcpy(name, SHMEM_VENDOR_STRING);
}

RMQ_SHMEM(void*, malloc, (size_t size)) {
  return allocate(fn::malloc, size, 1, false);
}
RMQ_SHMEM(void*, malloc_with_hints, (size_t size, long)) {
  return allocate(fn::malloc, size, 1, false);
}
RMQ_SHMEM(void*, calloc, (size_t count, size_t size)) {
  size_t bytes = 0;
  if (__builtin_mul_overflow(count, size, &bytes)) return nullptr;
  return allocate(fn::calloc, bytes, 1, true);
}
RMQ_SHMEM(void*, align, (size_t alignment, size_t size)) {
  if (!std::has_single_bit(alignment) || (!world().one_address && alignment > kHeapAlignment)) return nullptr;
  return allocate(fn::align, size, alignment, false);
}

RMQ_SHMEM(void, free, (void* ptr)) {
  enter(fn::free, [&] {
    meet();
    if (ptr) world().heap->give(offset_of(fn::free, ptr));
  });
}

// Others may still be about to put where the data lies: all meet before it moves, and behind.
RMQ_SHMEM(void*, realloc, (void* ptr, size_t size)) {
  if (!ptr) return allocate(fn::realloc, size, 1, false);
  return enter(fn::realloc, [&]() -> void* {
    World& w = world();
    check_alike(fn::realloc, size);
    quiet_all();
    meet();
    const std::uint64_t from = offset_of(fn::realloc, ptr), had = *w.heap->size_of(from);
    if (size == 0) {
      w.heap->give(from);
      return nullptr;
    }
    std::uint64_t to = from;
    if (!w.heap->resize(from, size)) {
      const auto other = take(size, 1);
      if (!other) return nullptr;
      to = *other;
      std::memcpy(at(to), ptr, std::min<std::uint64_t>(had, size));
      w.heap->give(from);
    } else if (!reserve(from + size)) {
      w.heap->resize(from, had);
      return nullptr;
    }
    meet();
    return at(to);
  });
}

RMQ_SHMEM(void, set_cache_inv, (void)) {}
RMQ_SHMEM(void, clear_cache_inv, (void)) {}
RMQ_SHMEM(void, set_cache_line_inv, (void*)) {}
RMQ_SHMEM(void, clear_cache_line_inv, (void*)) {}
RMQ_SHMEM(void, udcflush, (void)) {}
RMQ_SHMEM(void, udcflush_line, (void*)) {}

}  // namespace rmq::shmem
