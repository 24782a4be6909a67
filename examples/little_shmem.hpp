// SPDX-License-Identifier: BSD-3-Clause
// A little SHMEM on MPI-3 remote memory access, to read: one symmetric heap, which is one window, open all the time.
//
// A symmetric address is the same offset into every rank's heap, so the address of my own copy names everybody's. Puts
// are complete here when they return, and at the target after shmem_quiet; atomics are complete when they return.
#pragma once

#include <mpi.h>

#include <climits>
#include <cstddef>
#include <cstdio>
#include <cstdlib>

namespace little_shmem {

struct State {
  MPI_Win heap = MPI_WIN_NULL;
  char* base = nullptr;  // of my copy
  MPI_Aint bytes = 0;    // of each copy
  MPI_Aint used = 0;     // shmalloc only grows
  int me = 0, pes = 0;
};
inline State state;

[[noreturn]] inline void give_up(const char* what) {
  std::fprintf(stderr, "shmem: pe %d: %s\n", state.me, what);
  MPI_Abort(MPI_COMM_WORLD, 1);
  std::abort();
}

inline MPI_Aint offset_of(const void* address, std::size_t bytes) {
  const auto at = static_cast<const char*>(address) - state.base;
  if (at < 0 || at + static_cast<std::ptrdiff_t>(bytes) > state.bytes) give_up("this address is not symmetric");
  return at;
}

inline int count_of(std::size_t n) {
  if (n > INT_MAX) give_up("too many elements in one call");
  return static_cast<int>(n);
}

}  // namespace little_shmem

/// Heap size in bytes from SHMEM_SYMMETRIC_HEAP_SIZE, else 16 MB. `pes` is only checked; 0: any.
inline void start_pes(int pes) {
  auto& s = little_shmem::state;
  int initialized;
  MPI_Initialized(&initialized);
  if (!initialized) MPI_Init(nullptr, nullptr);
  MPI_Comm_rank(MPI_COMM_WORLD, &s.me);
  MPI_Comm_size(MPI_COMM_WORLD, &s.pes);
  if (pes != 0 && pes != s.pes) little_shmem::give_up("there are not as many pes as start_pes asks for");
  const char* size = std::getenv("SHMEM_SYMMETRIC_HEAP_SIZE");
  s.bytes = size ? std::atol(size) : 16 << 20;

  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "accumulate_ordering", "none");  // shmem_fence orders
  MPI_Info_set(info, "accumulate_ops", "same_op_no_op");
  MPI_Info_set(info, "same_size", "true");
  MPI_Info_set(info, "same_disp_unit", "true");
  MPI_Win_allocate(s.bytes, 1, info, MPI_COMM_WORLD, &s.base, &s.heap);
  MPI_Info_free(&info);
  MPI_Win_lock_all(MPI_MODE_NOCHECK, s.heap);
}

/// Collective. Call it before the end of main.
inline void shmem_finalize() {
  auto& s = little_shmem::state;
  MPI_Win_unlock_all(s.heap);
  MPI_Win_free(&s.heap);
  MPI_Finalize();
}

inline int shmem_my_pe() {
  return little_shmem::state.me;
}
inline int shmem_n_pes() {
  return little_shmem::state.pes;
}

/// Collective with the same size everywhere; aligned to 16 bytes.
inline void* shmalloc(std::size_t bytes) {
  auto& s = little_shmem::state;
  void* memory = s.base + s.used;
  s.used += static_cast<MPI_Aint>((bytes + 15) / 16 * 16);
  if (s.used > s.bytes) little_shmem::give_up("the symmetric heap is full; raise SHMEM_SYMMETRIC_HEAP_SIZE");
  return memory;
}

inline void shmem_long_put(long* target, const long* source, std::size_t n, int pe) {
  const int count = little_shmem::count_of(n);
  MPI_Put(source, count, MPI_LONG, pe, little_shmem::offset_of(target, n * sizeof(long)), count, MPI_LONG,
          little_shmem::state.heap);
  MPI_Win_flush_local(pe, little_shmem::state.heap);
}

inline void shmem_long_get(long* target, const long* source, std::size_t n, int pe) {
  const int count = little_shmem::count_of(n);
  MPI_Get(target, count, MPI_LONG, pe, little_shmem::offset_of(source, n * sizeof(long)), count, MPI_LONG,
          little_shmem::state.heap);
  MPI_Win_flush(pe, little_shmem::state.heap);
}

inline void shmem_long_p(long* target, long value, int pe) {
  shmem_long_put(target, &value, 1, pe);
}
inline long shmem_long_g(const long* source, int pe) {
  long value;
  shmem_long_get(&value, source, 1, pe);
  return value;
}

inline long shmem_long_swap(long* target, long value, int pe) {
  long before;
  MPI_Fetch_and_op(&value, &before, MPI_LONG, pe, little_shmem::offset_of(target, sizeof(long)), MPI_REPLACE,
                   little_shmem::state.heap);
  MPI_Win_flush(pe, little_shmem::state.heap);
  return before;
}

inline long shmem_long_cswap(long* target, long condition, long value, int pe) {
  long before;
  MPI_Compare_and_swap(&value, &condition, &before, MPI_LONG, pe, little_shmem::offset_of(target, sizeof(long)),
                       little_shmem::state.heap);
  MPI_Win_flush(pe, little_shmem::state.heap);
  return before;
}

inline long shmem_long_fadd(long* target, long value, int pe) {
  long before;
  MPI_Fetch_and_op(&value, &before, MPI_LONG, pe, little_shmem::offset_of(target, sizeof(long)), MPI_SUM,
                   little_shmem::state.heap);
  MPI_Win_flush(pe, little_shmem::state.heap);
  return before;
}

/// All earlier puts are at their targets before any later one.
inline void shmem_fence() {
  MPI_Win_flush_all(little_shmem::state.heap);
}
/// All earlier puts are at their targets.
inline void shmem_quiet() {
  MPI_Win_flush_all(little_shmem::state.heap);
}

inline void shmem_barrier_all() {
  shmem_quiet();
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_sync(little_shmem::state.heap);
}
