// SPDX-License-Identifier: BSD-3-Clause
// Allocations: each is a window of rma/ in an epoch that lasts as long as it does.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <shared_mutex>

#include "armci/call.hpp"
#include "engine/coll/coll.hpp"
#include "engine/window/windows.hpp"

namespace rmq::armci {
namespace {

// Where all have it, and where it lies here.
void find_parts(Allocation& a) {
  const std::uint64_t mine[] = {reinterpret_cast<std::uintptr_t>(a.window->base()), a.window->bytes()};
  const auto all = mpi::gather_all(mpi::whole_party(*a.comm), mine);
  const mpi::Group& procs = *world().comm->group;
  for (int place = 0; place < a.comm->size(); ++place) {
    const std::size_t at = 2 * static_cast<std::size_t>(place);
    Part& part = a.parts.emplace_back(Part{.begin = all[at], .bytes = all[at + 1], .of = &a, .place = place});
    rma::SharedMemory memory;
    a.window->shared_query(place, memory);
    part.here = static_cast<std::byte*>(memory.base);
    if (part.bytes == 0) part.begin = 0, a.is_uneven = true;
    a.procs.push_back(procs.place_of(a.comm->world_of(place)));
  }
  a.busy.resize(a.parts.size());
}

bool is_before(const Part* a, const Part* b) {
  return a->begin < b->begin;
}

void add_to_peers(const Allocation& a) {
  const std::unique_lock lock(world().lookups);
  for (std::size_t i = 0; i < a.parts.size(); ++i) {
    if (a.parts[i].bytes == 0) continue;
    auto& all = world().peers[static_cast<std::size_t>(a.procs[i])].parts;
    all.insert(std::upper_bound(all.begin(), all.end(), &a.parts[i], is_before), &a.parts[i]);
  }
}

void take_from_peers(const Allocation& a) {
  const std::unique_lock lock(world().lookups);
  for (std::size_t i = 0; i < a.parts.size(); ++i) {
    Peer& peer = world().peers[static_cast<std::size_t>(a.procs[i])];
    std::erase(peer.parts, &a.parts[i]);
    peer.forget();
  }
}

// Until another thread has come so far.
template <class Done>
void await(Done&& done) {
  adi::Device& device = *mpi::runtime().device;
  while (!done()) {
    const adi::Watch watch(device.watches(), done);
    device.MPID_Poll(true);
  }
}
void wake_threads() {
  adi::Device& device = *mpi::runtime().device;
  device.wake(device.rank());
}

void malloc(void** pointers, armci_size_t bytes, Group& g) {
  if (bytes < 0) die(fn::Malloc, fmt::format("{} bytes cannot be had", bytes));
  // Where all have nothing, nobody could say later which it is that they free.
  const auto wanted = static_cast<std::uint64_t>(bytes);
  std::uint64_t none = wanted == 0 ? 1 : 0;
  mpi::and_all(mpi::whole_party(*g.comm), {&none, 1});
  std::fill(pointers, pointers + g.size(), nullptr);
  if (none) return;
  const Allocation& a = allocate(*g.comm, wanted);
  for (std::size_t i = 0; i < a.parts.size(); ++i) pointers[i] = reinterpret_cast<void*>(a.parts[i].begin);
}

// Members that have nothing learn from the others which it is: each says its number on the wire.
void free_pointer(const void* pointer, Group& g) {
  auto& all = world().allocations;
  Allocation* found = nullptr;
  for (const auto& a : all) {
    std::uint64_t offset = 0;
    const Part& mine = a->parts[static_cast<std::size_t>(a->window->me())];
    if (pointer && mine.bytes > 0 && mine.contains(pointer, 0, offset) && offset == 0) found = a.get();
  }
  if (pointer && (!found || found->comm != g.comm))
    die(fn::Free, fmt::format("{} is not from ARMCI_Malloc, of this group, or has been freed", pointer));
  const std::uint64_t mine = found ? std::uint64_t{found->id} + 1 : 0;
  const auto ids = mpi::gather_all(mpi::whole_party(*g.comm), {&mine, 1});
  const std::uint64_t id = *std::max_element(ids.begin(), ids.end());
  if (id == 0) return;  // nobody has had anything
  const auto named = std::find_if(all.begin(), all.end(), [&](const auto& a) { return a->id + 1 == id; });
  if (named == all.end() || std::any_of(ids.begin(), ids.end(), [&](auto one) { return one != 0 && one != id; }))
    die(fn::Free, "not all members free the same");
  free(**named);
}

}  // namespace

Allocation& allocate(mpi::Comm& comm, std::uint64_t bytes, bool atomics) {
  auto a = std::make_unique<Allocation>();
  a->comm = &comm;
  mpi::retain(comm);
  a->id = mpi::agree_on_contexts(mpi::whole_party(comm), 1)[0];
  rma::WindowOptions o;
  o.id = a->id;
  o.flavor = rma::Flavor::allocate;
  o.size = bytes;
  o.hints.cpu_atomics = atomics;
  o.hints.in_order = true;
  a->window = world().open_window(fn::Malloc, comm, std::move(o));
  a->parts.reserve(static_cast<std::size_t>(comm.size()));
  find_parts(*a);
  add_to_peers(*a);
  a->number = ++world().allocated;  // last: those of other threads come in between
  return *world().allocations.emplace_back(std::move(a));
}

// Other threads may fence meanwhile, which goes through all allocations. Who waits in this one is let out of it; who
// comes now waits until all is complete, but not for the other members.
void free(Allocation& a) {
  a.is_freed = true;
  await([&] { return a.waits == 0; });
  check(fn::Free, *a.window, a.window->unlock_all());
  check(fn::Free, *a.window, a.window->may_close());
  std::fill(a.busy.begin(), a.busy.end(), false);
  a.any_busy = false;
  wake_threads();
  mpi::coll::barrier(*a.comm);
  take_from_peers(a);
  mpi::forget_latest_window();
  a.window.reset();
  mpi::free_context(a.id);
  mpi::release(a.comm);
  std::erase_if(world().allocations, [&](const auto& one) { return one.get() == &a; });
}

Waiting::~Waiting() {
  if (--a_.waits == 0 && a_.is_freed) wake_threads();
}

void await_freeing(std::uint64_t number) {
  await([&] {
    const Allocation* const a = allocation(number);
    return !a || !a->any_busy;
  });
}

Allocation* allocation(std::uint64_t number) {
  const auto& all = world().allocations;
  const auto at =
      std::lower_bound(all.begin(), all.end(), number, [](const auto& a, std::uint64_t n) { return a->number < n; });
  return at != all.end() && (*at)->number == number ? at->get() : nullptr;
}

void Peer::forget() {
  static constexpr Part kNowhere;
  latest.store(&kNowhere, std::memory_order_release);
}

// What is returned lies in an allocation that nobody frees: the program uses it.
const Part& detail::search(const char* function, const void* address, std::uint64_t bytes, int proc) {
  // What this process has of its own it may name as well, and nothing lies everywhere: nor is it looked up, for the
  // memory that it lies at may be another thread's to free.
  static const Part kOwn{.begin = 1, .bytes = ~std::uint64_t{0} - 1, .here = reinterpret_cast<std::byte*>(1)};
  if (bytes == 0) return kOwn;
  World& w = world();
  Peer& peer = w.peers[static_cast<std::size_t>(proc)];
  std::uint64_t offset = 0;
  std::shared_lock lock(w.lookups, std::defer_lock);
  if (w.threads) lock.lock();
  const Part wanted{.begin = reinterpret_cast<std::uintptr_t>(address)};
  const auto above = std::upper_bound(peer.parts.begin(), peer.parts.end(), &wanted, is_before);
  if (above != peer.parts.begin() && above[-1]->contains(address, bytes, offset)) {
    if (!w.threads) peer.latest.store(above[-1], std::memory_order_release);
    return *above[-1];
  }
  const bool overlaps = (above != peer.parts.end() && (*above)->begin - wanted.begin < bytes) ||
                        (above != peer.parts.begin() && wanted.begin - above[-1]->begin < above[-1]->bytes);
  if (proc == w.me && !overlaps && kOwn.contains(address, bytes, offset)) return kOwn;
  die(function, fmt::format("{} bytes at {} are not in what ARMCI_Malloc has given process {}", bytes, address, proc));
}

RMQ_ARMCI(int, Malloc, (void** pointers, armci_size_t bytes)) {
  enter(fn::Malloc, [&] { malloc(pointers, bytes, *world().all); });
  return 0;
}
RMQ_ARMCI(int, Malloc_group, (void** pointers, armci_size_t bytes, ARMCI_Group* group)) {
  enter(fn::Malloc, [&] { malloc(pointers, bytes, group_of(fn::Malloc, group)); });
  return 0;
}
RMQ_ARMCI(int, Malloc_memdev, (void** pointers, armci_size_t bytes, const char*)) {
  return PARMCI_Malloc(pointers, bytes);
}
RMQ_ARMCI(int, Malloc_group_memdev, (void** pointers, armci_size_t bytes, ARMCI_Group* group, const char*)) {
  return PARMCI_Malloc_group(pointers, bytes, group);
}
RMQ_ARMCI(int, Free, (void* pointer)) {
  enter(fn::Free, [&] { free_pointer(pointer, *world().all); });
  return 0;
}
RMQ_ARMCI(int, Free_memdev, (void* pointer)) {
  return PARMCI_Free(pointer);
}
RMQ_ARMCI(int, Free_group, (void* pointer, ARMCI_Group* group)) {
  enter(fn::Free, [&] { free_pointer(pointer, group_of(fn::Free, group)); });
  return 0;
}
RMQ_ARMCI(void*, Malloc_local, (armci_size_t bytes)) {
  return std::malloc(static_cast<std::size_t>(bytes));
}
RMQ_ARMCI(int, Free_local, (void* pointer)) {
  std::free(pointer);
  return 0;
}
RMQ_ARMCI(void, Access_begin, (void*)) {
  std::atomic_thread_fence(std::memory_order_seq_cst);
}
RMQ_ARMCI(void, Access_end, (void*)) {
  std::atomic_thread_fence(std::memory_order_seq_cst);
}
RMQ_ARMCI(void, Copy, (void* src, void* dst, int bytes)) {
  copy_bytes(dst, src, static_cast<std::size_t>(bytes));
}

}  // namespace rmq::armci
