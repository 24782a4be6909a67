// SPDX-License-Identifier: BSD-3-Clause
// Completion: fences, barriers, handles. What is done by loads and stores is complete when its call returns.
#include <algorithm>
#include <vector>

#include "armci/call.hpp"
#include "armci/transfer.hpp"
#include "engine/coll/coll.hpp"

namespace rmq::armci {
namespace {

// What is issued and waits for company may be what others wait for before they come: all is complete first.
void barrier() {
  complete(-1, false);
  if (const int code = mpi::coll::barrier(*world().comm); code != MPI_SUCCESS)
    mpi::fail_call(code, "a process is lost");
}

// Stores are in order by themselves, and loads that follow see what others have stored since.
void fence(const mpi::Function& f, int proc) {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (world().busy.load(std::memory_order_acquire)) [[unlikely]]
    enter(f, [&] { complete(proc, false); });
  looked();
}

// What a handle names; nothing when that is complete, or its memory has been freed.
rma::Completion named(const armci_hdl_t& h, Allocation*& a) {
  a = h.memory == 0 ? nullptr : allocation(h.memory);
  if (!a) return {};
  rma::Completion c = a->window->completion(h.place, rma::Until::local);
  c.number = h.operation;
  return c;
}

// ARMCI_Wait for all that has no handle, or to one process.
int wait_locally(const mpi::Function& f, int proc) {
  if (world().busy.load(std::memory_order_acquire)) enter(f, [&] { complete(proc, true); });
  return 0;
}

}  // namespace

// All places of an allocation are waited for together. Other threads may issue more, and make and free allocations,
// while this one waits: each is looked up when its turn comes, and not freed as long as this waits there; what they
// have marked since stays, and what is left is counted in the end, without a wait in between.
void complete(int proc, bool local) {
  World& w = world();
  std::vector<std::uint64_t> numbers;
  for (const auto& a : w.allocations)
    if (a->any_busy) numbers.push_back(a->number);
  for (const std::uint64_t number : numbers) {
    Allocation* const a = allocation(number);
    if (!a || !a->any_busy) continue;
    if (a->is_freed) {
      await_freeing(number);
      continue;
    }
    const Waiting waiting(*a);
    std::vector<int> places;
    std::vector<rma::Completion> all;
    for (std::size_t place = 0; place < a->busy.size(); ++place) {
      if (!a->busy[place] || (proc >= 0 && a->procs[place] != proc)) continue;
      places.push_back(static_cast<int>(place));
      all.push_back(a->window->completion(places.back(), local ? rma::Until::local : rma::Until::remote));
    }
    if (all.empty()) continue;
    check(mpi::runtime().device->call_name(), *a->window, a->window->finish(all));
    for (std::size_t i = 0; !local && i < all.size(); ++i) {
      if (a->window->completion(places[i], rma::Until::remote).number == all[i].number)
        a->busy[static_cast<std::size_t>(places[i])] = false;
    }
  }
  bool any = false;
  for (const auto& a : w.allocations) {
    a->any_busy = std::find(a->busy.begin(), a->busy.end(), true) != a->busy.end();
    any |= a->any_busy;
  }
  w.busy.store(any, std::memory_order_release);  // to fences, which may not look further
}

void end_handle(const mpi::Function& f, armci_hdl_t& h) {
  enter(f, [&] {
    Allocation* a = nullptr;
    rma::Completion one = named(h, a);
    if (!a) return;
    if (a->is_freed) return await_freeing(h.memory);
    const Waiting waiting(*a);
    check(f, *a->window, a->window->finish({&one, 1}));
  });
  h.memory = 0;
}

RMQ_ARMCI(void, Fence, (int proc)) {
  check_proc(fn::Fence, proc);
  fence(fn::Fence, proc);
}
RMQ_ARMCI(void, AllFence, (void)) {
  fence(fn::AllFence, -1);
}
RMQ_ARMCI(void, Barrier, (void)) {
  enter(fn::Barrier, barrier);
}
extern "C" RMQ_EXPORT void parmci_msg_barrier(void) {
  enter(fn::msg_barrier, barrier);
}
extern "C" RMQ_EXPORT void armci_msg_barrier(void) {
  enter(fn::msg_barrier, barrier);
}

RMQ_ARMCI(int, Wait, (armci_hdl_t * handle)) {
  if (handle->memory != 0) end_handle(fn::Wait, *handle);
  return 0;
}
RMQ_ARMCI(int, Test, (armci_hdl_t * handle)) {
  looked();
  if (handle->memory == 0) return 0;
  const bool done = enter(fn::Test, [&] {
    mpi::runtime().device->MPID_Poll(false);
    Allocation* a = nullptr;
    const rma::Completion one = named(*handle, a);
    return !a || a->window->test(one);
  });
  if (done) end_handle(fn::Test, *handle);
  return done ? 0 : 1;
}
RMQ_ARMCI(int, WaitProc, (int proc)) {
  check_proc(fn::WaitProc, proc);
  return wait_locally(fn::WaitProc, proc);
}
RMQ_ARMCI(int, WaitAll, (void)) {
  return wait_locally(fn::WaitAll, -1);
}

RMQ_ARMCI(void, INIT_HANDLE, (armci_hdl_t * handle)) {
  *handle = {};
}
RMQ_ARMCI(void, SET_AGGREGATE_HANDLE, (armci_hdl_t * handle)) {
  *handle = {};
  handle->aggregate = kAggregate;
}
RMQ_ARMCI(void, UNSET_AGGREGATE_HANDLE, (armci_hdl_t * handle)) {
  if (handle->memory != 0) end_handle(fn::Wait, *handle);
  handle->aggregate = 0;
}

void detail::poll() {
  if (world().size == 0) return;
  const adi::Device::Entry entry(*mpi::runtime().device, "ARMCI");  // whoever looks: for what a lost process ends
  mpi::runtime().device->MPID_Poll(false);
}

}  // namespace rmq::armci
