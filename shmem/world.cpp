// SPDX-License-Identifier: BSD-3-Clause
#include "shmem/world.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <utility>

#include "engine/coll/coll.hpp"
#include "shmem/call.hpp"
#include "shmem/context.hpp"
#include "shmem/team.hpp"

namespace rmq::shmem {

constinit detail::Immortal detail::instance;

namespace {

constexpr std::uint64_t kControlBytes = 4096, kDefaultHeap = std::uint64_t{1} << 30;

const char* setting(std::initializer_list<const char*> names) {
  for (const char* name : names)
    if (const char* value = std::getenv(name); value && *value) return value;
  return nullptr;
}

std::uint64_t heap_size() {
  const char* text = setting({"SHMEM_SYMMETRIC_SIZE", "SMA_SYMMETRIC_SIZE"});
  if (!text) return kDefaultHeap;
  const auto bytes = parse_size(text);
  if (!bytes) {
    std::fprintf(stderr, "rmq: SHMEM_SYMMETRIC_SIZE='%s' is no size: a number, with k, m, g or t behind it, is one\n",
                 text);
    std::exit(1);
  }
  return (*bytes + kControlBytes - 1) / kControlBytes * kControlBytes;
}

mpi::Party all_pes() {
  return mpi::whole_party(*world().comm);
}
/// Whether all PEs have the same word.
bool is_alike(std::uint64_t word) {
  std::array<std::uint64_t, 2> words{word, ~word};
  mpi::and_all(all_pes(), words);
  return (words[0] | words[1]) == ~std::uint64_t{0};
}

// One address for all; else each has its own, and offsets are what is alike, with their alignment.
void place_heap() {
  World& w = world();
  const std::uint64_t bytes = heap_size();
  if (!is_alike(bytes)) die(fn::init, "SHMEM_SYMMETRIC_SIZE is not the same in all PEs");
  Segment heap;
  for (int attempt = 0;; ++attempt) {
    void* const address = heap_address(attempt);
    heap = open_heap(bytes, kControlBytes, address);
    if (all_say(heap.file != nullptr)) break;
    heap = Segment{};
    if (!address)
      die(fn::init, fmt::format("the system has no room for a symmetric heap of {} bytes in every PE", bytes));
  }
  new (heap.file->data()) Control{};
  w.heap_begin = reinterpret_cast<std::uintptr_t>(heap.begin);
  w.heap_bytes = heap.bytes;
  w.one_address = is_alike(w.heap_begin);
  w.segments.insert(w.segments.begin(), std::move(heap));
}

// Programs may differ from PE to PE, and load their libraries in other orders: what some PE does not have is not
// symmetric, and the first PE's order holds.
void keep_what_is_alike() {
  World& w = world();
  std::vector<Segment> data(std::make_move_iterator(w.segments.begin() + 1), std::make_move_iterator(w.segments.end()));
  w.segments.resize(1);
  std::vector<std::uint64_t> wanted;
  for (const Segment& s : data) wanted.push_back(s.identity);
  mpi::broadcast(all_pes(), wanted);
  const auto find = [&](std::uint64_t identity) { return std::ranges::find(data, identity, &Segment::identity); };
  std::vector<std::uint64_t> everywhere;
  for (const std::uint64_t one : wanted) everywhere.push_back(find(one) != data.end() ? 1 : 0);
  mpi::and_all(all_pes(), everywhere);
  for (std::size_t i = 0; i < wanted.size(); ++i)
    if (everywhere[i] != 0) w.segments.push_back(std::move(*find(wanted[i])));
}

// Whether PEs of this host are reached by memory: as messages are.
bool shares_memory(int pe) {
  return pe == world().me || mpi::runtime().device->shares_memory(pe);
}

// How each PE of the host is reached: it tells where its segments can be had.
void reach_near() {
  World& w = world();
  const adi::Device& device = *mpi::runtime().device;
  w.near = os::Zeros<Near>(static_cast<int>(w.size));
  const Ranks host = device.places_beside(w.me, w.comm->group->world);
  const std::size_t count = std::min<std::size_t>(w.segments.size(), Near::kSegments);
  std::vector<std::uint64_t> tickets;
  for (std::size_t i = 0; i < count; ++i) tickets.push_back(w.segments[i].file ? w.segments[i].file->ticket() : 0);
  mpi::Party party = all_pes();
  party.ranks = host.list();
  party.me = host.place_of(w.me);
  const auto all = mpi::gather_all(party, tickets);
  bool all_mapped = w.segments.size() <= Near::kSegments;
  for (int k = 0; k < host.size(); ++k) {
    const int pe = host[k];
    Near& n = w.near[pe];
    n.rank_on_host = k + 1;
    if (pe == w.me) {
      for (std::size_t i = 0; i < count; ++i) n.base[i] = w.segments[i].begin;
      n.control = reinterpret_cast<Control*>(w.segments[0].file->data());
      continue;
    }
    if (!shares_memory(pe)) continue;
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint64_t ticket = all[static_cast<std::size_t>(k) * count + i];
      if (ticket == 0) continue;
      // Mapped until the process ends: destructors of the program may use it.
      static auto* const mapped = new std::vector<rma::HostMemory>;
      auto& theirs = mapped->emplace_back(rma::HostMemory::map(ticket, w.segments[i].at + w.segments[i].bytes));
      if (!theirs) continue;
      n.base[i] = theirs.data() + w.segments[i].at;
      if (i == 0) n.control = reinterpret_cast<Control*>(theirs.data());
    }
    // The word that says who sleeps lies in the heap's file: who cannot map that one reaches nothing.
    if (!n.control) n.base = {};
    for (std::size_t i = 0; i < count; ++i) all_mapped = all_mapped && n.base[i];
  }
  w.all_near = all_say(all_mapped && host.size() == static_cast<int>(w.size) &&
                       std::all_of(host.begin(), host.end(), shares_memory));
  w.asymmetric = all_say(os::register_asymmetric_fence());
}

void open_window() {
  World& w = world();
  rma::WindowOptions o;
  o.id = w.comm->context;
  o.flavor = rma::Flavor::dynamic;
  o.hints.no_locks = w.all_near;  // nobody sends packets: no agent
  o.hints.cpu_atomics = true;
  w.window = w.open_window(fn::init, *w.comm, std::move(o), [&](rma::Window& window) {
    for (std::size_t i = 0; i < w.segments.size(); ++i) {
      if (window.attach(w.segments[i].begin, w.segments[i].bytes, segment_name(i)) != rma::Fault::none)
        die(fn::init, "symmetric memory overlaps");
    }
  });
}

void print_facts() {
  const World& w = world();
  if (setting({"SHMEM_VERSION"})) std::printf("RMQ " RMQ_VERSION ", OpenSHMEM 1.6\n");
  if (!setting({"SHMEM_INFO"})) return;
  std::printf(
      "SHMEM_SYMMETRIC_SIZE=%llu  bytes of each PE's symmetric heap (k, m, g, t)\n"
      "SHMEM_DEBUG=%d             checks arguments that are to be the same in all PEs\n"
      "SHMEM_INFO                 prints this\n"
      "SHMEM_VERSION              prints the version\n"
      "RMQ_...                    rmqinfo lists them\n",
      static_cast<unsigned long long>(w.heap_bytes), w.debug ? 1 : 0);
  std::fflush(stdout);
}

// Symmetric memory stays where it is: destructors of the program may use it, and another start will.
void end() {
  World& w = world();
  const auto last = [&] {
    quiet_all();
    mpi::coll::barrier(*w.comm);
    w.window->unlock_all();
    w.check(fn::finalize, *w.window, w.window->may_close());
    w.may_leave = true;
    mpi::coll::barrier(*w.comm);
  };
  const auto drop = [&] {
    w.window.reset();
    w.contexts.clear();
    w.context.reset();
    end_teams();
  };
  w.end(fn::finalize, last, drop);
}

}  // namespace

bool all_say(bool yes) {
  std::uint64_t word = yes ? 1 : 0;
  mpi::and_all(all_pes(), {&word, 1});
  return word != 0;
}

std::byte* detail::near_data(const void* address, int pe) {
  const World& w = world();
  for (std::size_t i = 1; i < w.segments.size(); ++i) {
    const Segment& s = w.segments[i];
    if (!s.contains(address)) continue;
    std::byte* const base = pe == w.me ? s.begin : i < Near::kSegments ? w.near[pe].base[i] : nullptr;
    return base ? base + (static_cast<const std::byte*>(address) - s.begin) : nullptr;
  }
  return nullptr;
}

void detail::wake(int pe) {
  const adi::Device::Entry entry(*mpi::runtime().device);
  mpi::runtime().device->wake(pe);
}

std::uint64_t find_name(const void* address, std::uint64_t bytes) {
  const World& w = world();
  for (std::size_t i = 0; i < w.segments.size(); ++i) {
    const Segment& s = w.segments[i];
    const auto offset = reinterpret_cast<std::uintptr_t>(address) - reinterpret_cast<std::uintptr_t>(s.begin);
    if (offset < s.bytes && bytes <= s.bytes - offset) return segment_name(i) + offset;
  }
  return 0;
}

std::uint64_t name_of(const char* function, const void* address, std::uint64_t bytes) {
  if (const std::uint64_t name = find_name(address, bytes)) return name;
  die(function,
      fmt::format("{} bytes at {} are not symmetric: neither in the symmetric heap nor in static variables of the "
                  "program",
                  bytes, address));
}

bool is_symmetric(const void* address) {
  const auto& all = world().segments;
  return std::any_of(all.begin(), all.end(), [&](const Segment& s) { return s.contains(address); });
}

int start(int level) {
  World& w = world();
  const bool first = w.life.load(std::memory_order_acquire) == mpi::Life::before;
  const auto prepare = [&] {
    if (!first) return;
    w.segments = find_data();
    for (Segment& s : w.segments) share_data(s);
  };
  const auto meet = [] {
    mpi::Runtime& rt = mpi::runtime();
    mpi::Comm* const all = mpi::create_comm(*rt.world, Ranks::rule(0, rt.device->size()));
    all->name = "SHMEM_TEAM_WORLD";
    return all;
  };
  const auto open = [&] {
    w.debug = setting({"SHMEM_DEBUG"}) != nullptr;
    if (first) {
      place_heap();
      keep_what_is_alike();
      reach_near();
    }
    w.heap = std::make_unique<BestFit>();
    w.heap->open(w.one_address ? w.heap_begin : 0, w.heap_bytes);
    open_window();
    w.context = std::make_unique<Context>();
    make_first_teams();
    if (first && w.me == 0) print_facts();
  };
  w.start(level, fn::init, {prepare, meet, open, end});
  return mpi::runtime().thread_level;
}

void leave() {
  if (world().is_last_end()) return end();
  enter(fn::finalize, [] {
    quiet_all();
    mpi::coll::barrier(*world().comm);
  });
}

}  // namespace rmq::shmem
