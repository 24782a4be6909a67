// SPDX-License-Identifier: BSD-3-Clause
// A mutex is two numbers in memory of the process that has it: whose turn it is, and which turn is given next. Who
// wants it takes a turn, and waits until that has come: nobody overtakes. Both are changed by CPU atomics, by the
// target where they are far (rma::Hints::cpu_atomics).
#include "armci/mutex.hpp"

#include <fmt/format.h>
#include <sched.h>

#include <memory>
#include <vector>

#include "armci/call.hpp"
#include "armci/include/armcix.h"
#include "armci/transfer.hpp"
#include "base/os/atomic.hpp"

namespace rmq::armci {
namespace {

struct Words {
  std::uint32_t turn, next;
};
static_assert(sizeof(Words) == 8);
constexpr std::uint64_t kOneTurn = std::uint64_t{1} << 32;  // added to both as one number

std::uint32_t turn_of(std::uint64_t both) {
  return static_cast<std::uint32_t>(both);
}
std::uint32_t next_of(std::uint64_t both) {
  return static_cast<std::uint32_t>(both >> 32);
}

struct Mutexes {
  Allocation* memory;
};

Mutexes* of_program = nullptr;  // ARMCI_Create_mutexes

/// One mutex.
class Mutex {
 public:
  Mutex(const mpi::Function& f, const Mutexes* set, int index, int place) : f_(f) {
    if (world().size == 0) refuse(f);
    if (!set) die(f, "there are no mutexes");
    if (place < 0 || static_cast<std::size_t>(place) >= set->memory->parts.size())
      die(f, fmt::format("there is no process {}", place));
    part_ = &set->memory->parts[static_cast<std::size_t>(place)];
    offset_ = static_cast<std::uint64_t>(index) * sizeof(Words);
    if (index < 0 || offset_ >= part_->bytes) die(f, fmt::format("process {} has no mutex {}", place, index));
  }

  void lock() {
    const std::uint64_t before = add(kOneTurn);
    const std::uint32_t mine = next_of(before);
    for (std::uint32_t now = turn_of(before); now != mine; now = turn_of(load())) pause(mine - now);
  }
  bool try_lock() {
    const std::uint64_t now = load();
    return turn_of(now) == next_of(now) && swap(now, now + kOneTurn);
  }
  // Only the lower half, which begins again by itself.
  void unlock() {
    if (part_->here) {
      const std::uint64_t now = __atomic_load_n(both(), __ATOMIC_RELAXED);
      if (turn_of(now) == next_of(now)) die(f_, "nobody holds the mutex");
      __atomic_fetch_add(&words()->turn, 1u, __ATOMIC_RELEASE);
      return;
    }
    const std::uint32_t one = 1;
    std::uint32_t before = 0;
    far([&](rma::Window& w) { return w.fetch_and_op(&one, &before, target(MPI_UINT32_T), ReduceOp::sum); });
  }

 private:
  Words* words() const { return reinterpret_cast<Words*>(part_->here + offset_); }
  std::uint64_t* both() const { return reinterpret_cast<std::uint64_t*>(part_->here + offset_); }
  rma::Target target(MPI_Datatype type) const {
    return {part_->place, static_cast<std::int64_t>(offset_), mpi::find_datatype(type)->layout.get(), 1};
  }
  template <class Issue>
  void far(Issue&& issue) const {
    enter(f_, [&] {
      rma::Window& window = *part_->of->window;
      check(f_, window, issue(window));
      rma::Completion here = window.completion(part_->place, rma::Until::local);
      check(f_, window, window.finish({&here, 1}));
    });
  }

  std::uint64_t add(std::uint64_t value) const {
    if (part_->here) return __atomic_fetch_add(both(), value, __ATOMIC_ACQUIRE);
    std::uint64_t before = 0;
    far([&](rma::Window& w) { return w.fetch_and_op(&value, &before, target(MPI_UINT64_T), ReduceOp::sum); });
    return before;
  }
  std::uint64_t load() const {
    if (part_->here) return __atomic_load_n(both(), __ATOMIC_ACQUIRE);
    std::uint64_t now = 0;
    far([&](rma::Window& w) { return w.fetch_and_op(nullptr, &now, target(MPI_UINT64_T), ReduceOp::no_op); });
    return now;
  }
  bool swap(std::uint64_t expected, std::uint64_t value) const {
    if (part_->here)
      return __atomic_compare_exchange_n(both(), &expected, value, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
    std::uint64_t found = 0;
    far([&](rma::Window& w) { return w.compare_and_swap(&value, &expected, &found, target(MPI_UINT64_T)); });
    return found == expected;
  }
  // Until the next look: whoever has it may be waiting for this process to serve it.
  void pause(std::uint32_t ahead) {
    if (part_->here && ++looks_ % 16 != 0 && !world().crowded) {
      os::relax();
      return;
    }
    if (world().crowded) ::sched_yield();
    for (std::uint32_t i = 0; i < ahead; ++i) detail::poll();
  }

  const mpi::Function& f_;
  const Part* part_;
  std::uint64_t offset_;
  unsigned looks_ = 0;
};

Mutexes* create(mpi::Comm& comm, int count) {
  if (count < 0) die(fn::Create_mutexes, fmt::format("{} mutexes cannot be had", count));
  return new Mutexes{&allocate(comm, static_cast<std::uint64_t>(count) * sizeof(Words), true)};
}

void destroy(Mutexes* set) {
  free(*set->memory);
  delete set;
}

Mutexes* set_of(armcix_mutex_hdl_t handle) {
  return reinterpret_cast<Mutexes*>(handle);
}

}  // namespace

void destroy_mutexes() {
  if (of_program) destroy(std::exchange(of_program, nullptr));
}

RMQ_ARMCI(int, Create_mutexes, (int count)) {
  enter(fn::Create_mutexes, [&] {
    if (of_program) die(fn::Create_mutexes, "there are mutexes already");
    of_program = create(*world().comm, count);
  });
  return 0;
}
RMQ_ARMCI(int, Destroy_mutexes, (void)) {
  enter(fn::Destroy_mutexes, destroy_mutexes);
  return 0;
}
RMQ_ARMCI(void, Lock, (int mutex, int proc)) {
  Mutex(fn::Lock, of_program, mutex, proc).lock();
}
RMQ_ARMCI(void, Unlock, (int mutex, int proc)) {
  Mutex(fn::Unlock, of_program, mutex, proc).unlock();
}

extern "C" {
RMQ_EXPORT armcix_mutex_hdl_t ARMCIX_Create_mutexes_hdl(int count, ARMCI_Group* group) {
  return enter(fn::Create_mutexes, [&] {
    return reinterpret_cast<armcix_mutex_hdl_t>(create(*group_of(fn::Create_mutexes, group).comm, count));
  });
}
RMQ_EXPORT int ARMCIX_Destroy_mutexes_hdl(armcix_mutex_hdl_t mutexes) {
  enter(fn::Destroy_mutexes, [&] { destroy(set_of(mutexes)); });
  return 0;
}
RMQ_EXPORT void ARMCIX_Lock_hdl(armcix_mutex_hdl_t mutexes, int mutex, int proc) {
  Mutex(fn::Lock, set_of(mutexes), mutex, proc).lock();
}
RMQ_EXPORT int ARMCIX_Trylock_hdl(armcix_mutex_hdl_t mutexes, int mutex, int proc) {
  looked();
  return Mutex(fn::Lock, set_of(mutexes), mutex, proc).try_lock() ? 0 : 1;
}
RMQ_EXPORT void ARMCIX_Unlock_hdl(armcix_mutex_hdl_t mutexes, int mutex, int proc) {
  Mutex(fn::Unlock, set_of(mutexes), mutex, proc).unlock();
}
}

}  // namespace rmq::armci
