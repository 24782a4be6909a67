#include "shmem/world.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <utility>

#include "engine/coll/coll.hpp"
#include "engine/life/life.hpp"
#include "engine/window/windows.hpp"
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
  mpi::Windows& windows = mpi::windows();
  windows.forget_latest();  // the window may need the agent: another thread
  if (!windows.domain) windows.domain = std::make_unique<rma::Domain>(*mpi::runtime().device);
  rma::WindowOptions o;
  o.id = w.comm->context;
  o.flavor = rma::Flavor::dynamic;
  o.ranks = w.comm->group->world;
  o.me = w.me;
  o.hints.no_locks = w.all_near;  // nobody sends packets: no agent
  o.hints.cpu_atomics = true;
  // Whatever this PE does: it may be waiting for a store of the one that is lost, or for a lock which that one holds.
  o.on_lost = [](Rank lost, bool) {
    const World& all = world();
    if (all.life.load(std::memory_order_relaxed) == Life::active && !all.may_leave)
      mpi::end_for_loss(*mpi::runtime().device, lost);
  };
  w.window = rma::Window::prepare(*windows.domain, std::move(o));
  for (std::size_t i = 0; i < w.segments.size(); ++i) {
    if (w.window->attach(w.segments[i].begin, w.segments[i].bytes, segment_name(i)) != rma::Fault::none)
      die(fn::init, "symmetric memory overlaps");
  }
  const Ranks& host = w.window->host();
  const auto opened =
      w.window->open([&](std::span<std::uint64_t> words) { mpi::and_all(all_pes(), words); },
                     [&](std::span<const std::uint64_t> words) { return mpi::gather_all(all_pes(), words); },
                     [&](std::span<const std::uint64_t> words) {
                       mpi::Party party = all_pes();
                       party.ranks = host.list();
                       party.me = host.place_of(w.me);
                       return mpi::gather_all(party, words);
                     });
  if (!opened) die(fn::init, opened.error().what);
  w.window->lock_all(rma::assertion::nocheck);
}

// Where MPI has ended for good, the launcher is no longer there to be told why.
void join_mpi(int level) {
  try {
    mpi::join_runtime(level, fn::init.id, true);
  } catch (const mpi::Failure& f) {
    std::fprintf(stderr, "rmq: %s: %s\n", fn::init.name, f.what.c_str());
    std::exit(1);
  }
}

::pid_t ends_at_exit = 0;

// A program may end without shmem_finalize. One that ends badly does not wait for the others.
void on_exit_of_program(int status, void*) {
  if (status == 0 && ::getpid() == ends_at_exit && world().life.load(std::memory_order_acquire) == Life::active) end();
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

}  // namespace

void refuse(const char* function) {
  const bool early = world().life.load(std::memory_order_acquire) == Life::before;
  std::fprintf(stderr, "rmq: %s was called %s\n", function, early ? "before shmem_init" : "after shmem_finalize");
  std::fflush(stderr);
  if (mpi::runtime().device)
    mpi::runtime().device->MPID_Abort(1, fmt::format("{} was called too {}", function, early ? "early" : "late"),
                                      Blame::itself);
  std::exit(1);
}

void die(const char* function, const std::string& what) {
  mpi::Runtime& rt = mpi::runtime();
  const std::string line = fmt::format("{} on PE {}: {}", function, rt.device->rank(), what);
  rt.device->MPID_Abort(1, line, Blame::itself);
}

void detail::bad_pe(const char* function, int pe) {
  const World& w = world();
  if (w.life.load(std::memory_order_acquire) != Life::active) refuse(function);
  die(function, fmt::format("there is no PE {} (there are 0..{})", pe, w.size - 1));
}

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
  mpi::Runtime& rt = mpi::runtime();
  const std::lock_guard life(mpi::life_mutex());
  if (w.life.load(std::memory_order_acquire) == Life::active) {
    ++w.starts;
    return rt.thread_level;
  }
  const bool first = w.life.load(std::memory_order_acquire) == Life::before;
  if (first) {
    w.segments = find_data();
    for (Segment& s : w.segments) share_data(s);
  }
  join_mpi(level);
  mpi::finish_at_exit();
  ends_at_exit = ::getpid();
  if (first) ::on_exit(on_exit_of_program, nullptr);
  const adi::Device::Entry entry(*rt.device, fn::init, fn::init.id);
  try {
    w.session = mpi::hold_runtime();
    mpi::connect_job();
    w.comm = mpi::create_comm(*rt.world, Ranks::rule(0, rt.device->size()));
    w.comm->name = "SHMEM_TEAM_WORLD";
    w.me = rt.device->rank();
    w.crowded = rt.device->crowded();
    w.debug = setting({"SHMEM_DEBUG"}) != nullptr;
    w.size = static_cast<unsigned>(rt.device->size());
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
  } catch (const mpi::Failure& f) {
    die(fn::init, f.what);
  }
  if (first && w.me == 0) print_facts();
  w.starts = 1;
  w.may_leave = false;
  w.life.store(Life::active, std::memory_order_release);
  return rt.thread_level;
}

// Symmetric memory stays where it is: destructors of the program may use it, and another start will.
void end() {
  World& w = world();
  enter(fn::finalize, [&] {
    quiet_all();
    mpi::coll::barrier(*w.comm);
    w.window->unlock_all();
    if (const auto f = w.window->may_close(); f != rma::Fault::none) die(fn::finalize, std::string(fault_text(f)));
    w.may_leave = true;
    mpi::coll::barrier(*w.comm);
  });
  const std::lock_guard life(mpi::life_mutex());
  {
    const adi::Device::Entry entry(*mpi::runtime().device);
    w.window.reset();
    w.contexts.clear();
    w.context.reset();
    end_teams();
    mpi::let_go_of_runtime(std::exchange(w.session, nullptr));
    w.life.store(Life::after, std::memory_order_release);
    w.starts = 0;
    w.size = 0;
  }
  mpi::leave_runtime();
}

void leave() {
  const bool last = [] {
    const std::lock_guard life(mpi::life_mutex());
    return --world().starts == 0;
  }();
  if (last) return end();
  enter(fn::finalize, [] {
    quiet_all();
    mpi::coll::barrier(*world().comm);
  });
}

}  // namespace rmq::shmem
