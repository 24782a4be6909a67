// SPDX-License-Identifier: BSD-3-Clause
// The one process-wide instance that SHMEM needs, beside that of MPI (engine/object/runtime.hpp), whose device it uses:
// symmetric memory, how each PE's is reached, the window for packets. Start and end: world.cpp.
//
// PEs are ranks of the job. A PE of this host is reached by loads, stores and CPU atomics (near(), inline, no lock and
// no call); any other, and memory that nobody can map, by packets (transfer.hpp).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/data/best_fit.hpp"
#include "base/os/zeros.hpp"
#include "engine/face/face.hpp"
#include "rma/window/window.hpp"
#include "shmem/objects.hpp"
#include "shmem/segments.hpp"
#include "shmem/waiters.hpp"

namespace rmq::shmem {

/// How the memory of one PE is reached; all zero for one of another host.
struct alignas(64) Near {
  static constexpr int kSegments = 6;
  std::array<std::byte*, kSegments> base;  // of its segments, as they lie here; null: by packets
  Control* control;
  int rank_on_host;  // plus 1; 0: it is on another one
};
static_assert(sizeof(Near) == 64);

struct World : mpi::Face {
  static constexpr Words kWords{"shmem_init", "shmem_finalize", "PE"};
  constexpr World() : Face(kWords) {}

  // What each operation reads comes first.
  std::uintptr_t heap_begin = 0;
  std::uint64_t heap_bytes = 0;
  os::Zeros<Near> near;
  bool asymmetric = false;  // of the fence between those who store and those who fall asleep
  bool all_near = false;    // every PE is on this host, and all symmetric memory is mapped

  bool debug = false;
  std::vector<Segment> segments;  // the heap first
  std::unique_ptr<BestFit> heap;
  bool one_address = true;     // the heap has the same in all PEs
  std::uint64_t reserved = 0;  // bytes of the heap's file, from its begin, that have pages
  std::unique_ptr<rma::Window> window;
  std::unique_ptr<Context> context;  // the default one
  std::vector<std::unique_ptr<Context>> contexts;
  std::vector<std::unique_ptr<Team>> teams;
  // Two of `teams`, for threads that look a team up while another one, with the device held, makes some.
  Team* all = nullptr;     // SHMEM_TEAM_WORLD
  Team* shared = nullptr;  // SHMEM_TEAM_SHARED
};

namespace detail {
/// Never destroyed: a program may call SHMEM from a destructor that runs after main.
union Immortal {
  World world;
  constexpr Immortal() : world() {}
  ~Immortal() {}
};
[[gnu::visibility("hidden")]] extern Immortal instance;

std::byte* near_data(const void* address, int pe);
void wake(int pe);
}  // namespace detail

inline World& world() {
  return detail::instance.world;
}

/// Where the symmetric `address` of that PE lies in this process; null: it is reached by packets. `pe` is a valid one.
[[gnu::always_inline]] inline std::byte* near(const void* address, int pe) {
  const World& w = world();
  const std::uintptr_t offset = reinterpret_cast<std::uintptr_t>(address) - w.heap_begin;
  if (offset < w.heap_bytes) [[likely]] {
    std::byte* const base = w.near[pe].base[0];
    return base ? base + offset : nullptr;
  }
  return detail::near_data(address, pe);
}

[[gnu::always_inline]] inline void check_pe(const char* function, int pe) {
  if (static_cast<unsigned>(pe) >= world().size) [[unlikely]]
    world().bad_process(function, pe);
}

/// Memory of that PE, which is near, has been changed: if it sleeps for that, it wakes.
[[gnu::always_inline]] inline void changed(int pe) {
  const World& w = world();
  if (w.near[pe].control->has_waiters(w.asymmetric)) [[unlikely]]
    detail::wake(pe);
}

// ---- life: world.cpp ----

/// Collective. The thread level that is provided. Where SHMEM is active, only counts.
int start(int level);
/// Collective. The end of the latest start: of SHMEM when that was the only one, else a barrier.
void leave();

/// Collective. Whether all PEs say yes.
bool all_say(bool yes);

/// The name of symmetric memory of `bytes` bytes on the wire; ends the job when it is not symmetric.
std::uint64_t name_of(const char* function, const void* address, std::uint64_t bytes);
/// The same; 0 when it is not symmetric.
std::uint64_t find_name(const void* address, std::uint64_t bytes);
/// Whether it lies in a segment.
bool is_symmetric(const void* address);

}  // namespace rmq::shmem
