// SPDX-License-Identifier: BSD-3-Clause
// The one process-wide instance that ARMCI needs, beside that of MPI (engine/object/runtime.hpp), whose device it uses:
// memory, how each process's is reached, groups. Start and end: world.cpp.
//
// An ARMCI_Malloc is a window of rma/, open from its begin to its end. Where this process has a member's memory mapped,
// an operation is a copy, in the caller's own frame (transfer.hpp); all other memory is reached through the window.
//
// Processes are places in World::comm. Everything needs the device held unless it says otherwise.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <vector>

#include "armci/include/armci.h"
#include "engine/face/face.hpp"
#include "engine/object/handles.hpp"
#include "engine/object/objects.hpp"
#include "rma/window/window.hpp"

namespace rmq::armci {

struct Allocation;

/// One process's part of an allocation.
struct Part {
  std::uintptr_t begin = 0;   // its address in that process
  std::uint64_t bytes = 0;    // 0: it has none
  std::byte* here = nullptr;  // where it lies in this process; null: by packets
  Allocation* of = nullptr;   // null: this process's own memory, in no allocation
  int place = 0;              // of the process in the window

  /// `bytes` bytes from `address` on: whether they lie in it, and how far from its begin.
  bool contains(const void* address, std::uint64_t n, std::uint64_t& offset) const {
    offset = reinterpret_cast<std::uintptr_t>(address) - begin;
    return offset <= bytes && n <= bytes - offset;
  }
};

/// What one ARMCI_Malloc has made. Its parts stay where they are.
struct Allocation {
  std::uint64_t number = 0;  // of this process's: a handle names it so
  mpi::Comm* comm = nullptr;
  std::uint32_t id = 0;    // of the window: a context that no communicator has
  bool is_uneven = false;  // some members have nothing
  std::unique_ptr<rma::Window> window;
  std::vector<Part> parts;  // by place
  std::vector<int> procs;   // by place
  std::vector<bool> busy;   // by place: something was sent there that is not known to be done
  bool any_busy = false;
  int waits = 0;          // calls that wait in the window: Waiting
  bool is_freed = false;  // free() waits for those, then completes what was issued: any_busy
};

/// How one process is reached.
struct Peer {
  // The part that the latest operation went to; never null. Where several threads call it has no part: another one may
  // free the allocation meanwhile, and each operation looks its part up.
  std::atomic<const Part*> latest{nullptr};
  std::vector<const Part*> parts;  // by address

  /// What operations have gone to.
  void forget();
};

struct Group {
  mpi::Comm* comm = nullptr;
  int handle = 0;  // in Groups; ARMCI_Group has the lower bits (group.cpp)
  int size() const { return comm->size(); }
  int me() const { return comm->rank; }
};

/// Threads look groups up while others make and free some.
using Groups = mpi::Table<Group, mpi::ObjectKind::group, std::mutex>;

struct World : mpi::Face {
  static constexpr Words kWords{"ARMCI_Init", "ARMCI_Finalize", "process"};
  constexpr World() : Face(kWords) {}

  // What each operation reads comes first.
  std::unique_ptr<Peer[]> peers;
  bool threads = false;           // several may call at once
  std::atomic<bool> busy{false};  // an allocation is

  std::unique_ptr<Groups> groups;  // the world first
  Group* all = nullptr;            // the world: one of them
  std::atomic<ARMCI_Group> default_group{0};
  std::vector<std::unique_ptr<Allocation>> allocations;  // by number
  std::uint64_t allocated = 0;                           // so far
  std::shared_mutex lookups;                             // of Peer::parts, where several threads call
};

namespace detail {
/// Never destroyed: a program may call ARMCI from a destructor that runs after main.
union Immortal {
  World world;
  constexpr Immortal() : world() {}
  ~Immortal() {}
};
[[gnu::visibility("hidden")]] extern Immortal instance;

/// The part of that process that the address lies in. The device not held.
const Part& search(const char* function, const void* address, std::uint64_t bytes, int proc);
}  // namespace detail

inline World& world() {
  return detail::instance.world;
}

[[gnu::always_inline]] inline void check_proc(const char* function, int proc) {
  if (static_cast<unsigned>(proc) >= world().size) [[unlikely]]
    world().bad_process(function, proc);
}

/// The memory of that process which `bytes` bytes from `address` on are; ends the job when they are not all in one
/// allocation. The device not held.
[[gnu::always_inline]] inline const Part& find(const char* function, const void* address, std::uint64_t bytes, int proc,
                                               std::uint64_t& offset) {
  check_proc(function, proc);
  const Part* part = world().peers[static_cast<unsigned>(proc)].latest.load(std::memory_order_acquire);
  if (!part->contains(address, bytes, offset)) [[unlikely]] {
    part = &detail::search(function, address, bytes, proc);
    part->contains(address, bytes, offset);
  }
  return *part;
}

// ---- life: world.cpp ----

/// Collective over the communicator; null: MPI_COMM_WORLD. `level`: of threads, where MPI has not begun yet.
void start(int level, const MPI_Comm* comm);
/// Collective.
void end();

// ---- memory: memory.cpp ----

/// Collective over `comm`. `atomics`: others reach it by CPU atomics of their own (rma::Hints::cpu_atomics).
Allocation& allocate(mpi::Comm& comm, std::uint64_t bytes, bool atomics = false);
/// Collective over its communicator. Waits until all that was issued there is done, and until no other thread waits
/// there.
void free(Allocation& a);
/// A call that *waits* in the allocation's window, while other threads may free it.
class Waiting {
 public:
  explicit Waiting(Allocation& a) : a_(a) { ++a_.waits; }
  ~Waiting();
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;

 private:
  Allocation& a_;
};
/// *Waits* until what was issued to the allocation of that number, which another thread frees, is complete.
void await_freeing(std::uint64_t number);

// ---- completion: complete.cpp ----

/// Something was sent there, whose end at the target nobody has waited for.
inline void note_busy(Allocation& a, int place) {
  a.any_busy = true;
  a.busy[static_cast<std::size_t>(place)] = true;
  world().busy.store(true, std::memory_order_relaxed);  // of this thread, or whoever has synchronised with it
}
/// *Waits* until what was issued to that process (-1: to all) is done there, or (`local`) as far as this process's
/// memory is concerned.
void complete(int proc, bool local);
/// The allocation of that number, or null.
Allocation* allocation(std::uint64_t number);

// ---- groups: group.cpp ----

/// The device held or not.
Group& group_of(const char* function, const ARMCI_Group* group);
/// The group of all processes, which is the first that is made.
void make_first_group();
void end_groups();

}  // namespace rmq::armci
