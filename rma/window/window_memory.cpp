// SPDX-License-Identifier: BSD-3-Clause
#include "rma/window/window_memory.hpp"

#include <fmt/format.h>
#include <sys/sysinfo.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/os/fd.hpp"

namespace rmq::rma {
namespace {

// Brought::to_host. kData: a token, or without a control an address of that process. kMemory: the ticket of memory of
// its own, which holds the control too if kControl is 0.
enum Word : std::size_t { kData, kControl, kMemory, kBytes };

constexpr std::uint64_t kPage = 4096;

std::uint64_t control_bytes(const WindowCore& core) {
  return Control::bytes(static_cast<std::size_t>(core.host.size()));
}

// Where the data begins in the memory of a shared window's member: on a page, behind the control.
std::uint64_t data_at(const WindowCore& core) {
  return (control_bytes(core) + kPage - 1) / kPage * kPage;
}

// Of the machine, bytes: what is larger no system gives.
std::uint64_t all_memory() {
  struct sysinfo info {};
  ::sysinfo(&info);
  return (std::uint64_t{info.totalram} + info.totalswap) * info.mem_unit;
}

Control* make_control(void* memory, const WindowCore& core) {
  return Control::make(memory, static_cast<std::size_t>(core.host.size()));
}

}  // namespace

WindowMemory::~WindowMemory() {
  if (core_.options.flavor == Flavor::shared) return;
  if (core_.control && core_.shares)
    core_.device().MPID_Mem_free(core_.control);
  else
    std::free(core_.control);
  if (allocated_) core_.device().MPID_Mem_free(allocated_);
}

void WindowMemory::take() {
  if (core_.is_dynamic()) core_.options.size = 0;
  if (core_.options.flavor == Flavor::shared) {
    take_host_memory();
  } else {
    take_heap_memory();
  }
  // Packets may come before open(): whoever hears first begins.
  if (trouble_ == Fault::none) reach_mine();
}

// A shared window: control and data in one piece of memory for each member; together, the first one's holds all data.
void WindowMemory::take_host_memory() {
  std::uint64_t bytes = core_.options.size;
  bool too_much = false;
  if (!core_.options.hints.noncontiguous) {
    bytes = 0;
    for (const std::uint64_t size : core_.options.sizes) too_much |= __builtin_add_overflow(bytes, size, &bytes);
    if (core_.me != 0) bytes = 0;
  }
  too_much |= __builtin_add_overflow(bytes, data_at(core_), &bytes);
  core_.shares = true;
  host_.resize(static_cast<std::size_t>(core_.host.size()));
  HostMemory& mine = host_[static_cast<std::size_t>(core_.host_me)];
  trouble_ = too_much ? Fault::no_memory : HostMemory::make(bytes, mine);
  if (trouble_ != Fault::none) return;
  core_.control = make_control(mine.data(), core_);
  core_.base = mine.data() + data_at(core_);
}

void WindowMemory::take_heap_memory() {
  adi::Device& d = core_.device();
  if (core_.options.flavor == Flavor::create) core_.base = static_cast<std::byte*>(core_.options.base);
  if (core_.options.flavor == Flavor::allocate) allocate();
  // The control lies where the data is: shared, or not. What holds no data is shared as a matter of course.
  core_.shares = !core_.is_dynamic() && (core_.options.size == 0 || own_ || is_shared(core_.base, core_.options.size));
  const std::uint64_t bytes = control_bytes(core_);
  void* memory = core_.shares ? d.MPID_Mem_alloc(bytes, core_.options.ranks) : nullptr;
  if (memory && !is_shared(memory, bytes)) {
    d.MPID_Mem_free(memory);
    memory = nullptr;
  }
  core_.shares = memory != nullptr;
  if (!core_.shares) memory = std::aligned_alloc(kCacheLine, (bytes + kCacheLine - 1) / kCacheLine * kCacheLine);
  if (!memory) {
    trouble_ = Fault::no_memory;
    return;
  }
  core_.control = make_control(memory, core_);
}

// It begins as zeros. MPI does not ask for that, but memory that is new from the system does, as MPICH's windows are,
// and programs have come to lean on it: gfortran's coarrays may be read by others before the image that has them first
// writes them.
void WindowMemory::allocate() {
  adi::Device& d = core_.device();
  const std::uint64_t bytes = std::max<std::uint64_t>(core_.options.size, kCacheLine);
  const std::uint64_t alignment = std::max<std::uint64_t>(core_.options.hints.alignment, kCacheLine);
  const bool fits = alignment <= PTRDIFF_MAX / 2 && bytes <= PTRDIFF_MAX - alignment;
  const std::uint64_t room = fits ? bytes + alignment - kCacheLine : 0;  // the heap gives cache lines
  const auto aligned = [alignment](void* memory) {
    const std::uint64_t beyond = reinterpret_cast<std::uintptr_t>(memory) % alignment;
    return static_cast<std::byte*>(memory) + (alignment - beyond) % alignment;
  };
  allocated_ = fits ? d.MPID_Mem_alloc(room, core_.options.ranks) : nullptr;
  if (allocated_ && is_shared(allocated_, room)) {
    core_.base = aligned(allocated_);
    std::memset(core_.base, 0, bytes);
    return;
  }
  if (allocated_) d.MPID_Mem_free(allocated_);
  // What follows may be larger than what is ever touched: no page of it is taken before.
  if (alignment <= kPage && can_share() && bytes <= all_memory()) {
    allocated_ = nullptr;
    own_ = HostMemory::make_sparse(bytes, nullptr);
    core_.base = own_.data();
    if (own_) return;
  }
  allocated_ = fits ? std::calloc(bytes + alignment, 1) : nullptr;
  if (!allocated_) {
    trouble_ = Fault::no_memory;
    return;
  }
  core_.base = aligned(allocated_);
}

// Whether those of this host reach each other's heaps, so that memory for a control is to be had there.
bool WindowMemory::can_share() const {
  if (core_.host.size() < 2) return false;
  adi::Device& d = core_.device();
  void* const probe = d.MPID_Mem_alloc(control_bytes(core_), core_.options.ranks);
  const bool can = probe && is_shared(probe, control_bytes(core_));
  if (probe) d.MPID_Mem_free(probe);
  return can;
}

// Whether all members on this host can reach it.
bool WindowMemory::is_shared(const void* memory, std::uint64_t bytes) const {
  return core_.device().mem_token(memory, bytes, core_.options.ranks) != 0;
}

Brought WindowMemory::brought() const {
  const adi::Device& d = core_.device();
  const WindowOptions& o = core_.options;
  Brought b;
  b.fact = {static_cast<std::uint32_t>(trouble_), Regions::shift_for(o.size, o.hints.granularity), o.size, o.disp_unit,
            d.config().rma_type_bytes};
  if (o.flavor == Flavor::shared) {
    const HostMemory& mine = host_[static_cast<std::size_t>(core_.host_me)];
    if (mine) b.to_host[kMemory] = mine.ticket();
    b.to_host[kBytes] = mine.bytes();
  } else if (core_.shares) {
    if (own_) {
      b.to_host[kMemory] = own_.ticket();
      b.to_host[kBytes] = own_.bytes();
    } else if (core_.base) {
      b.to_host[kData] = d.mem_token(core_.base, o.size);
    }
    b.to_host[kControl] = d.mem_token(core_.control, control_bytes(core_));
  } else if (!core_.is_dynamic()) {
    b.to_host[kData] = reinterpret_cast<std::uintptr_t>(core_.base);
  }
  return b;
}

// What others know of a member is looked up when it becomes a target (WindowCore::look_up); those of the host are few.
Result<void> WindowMemory::open(const Told& told) {
  core_.facts = Facts(told);
  if (const int i = core_.facts.first_fault(); i >= 0) {
    const auto fault = static_cast<Fault>(core_.facts[i].fault);
    return fail(Errc::no_memory,
                fmt::format("rank {} has no memory for a window: {}", core_.world(i), fault_text(fault)));
  }
  const bool shared = core_.options.flavor == Flavor::shared;
  if (const int other = shared ? elsewhere() : -1; other >= 0) {
    return fail(Errc::argument, fmt::format("ranks {} and {} are on different hosts: they cannot share memory",
                                            core_.world(0), core_.world(other)));
  }
  for (int k = 0; k < core_.host.size(); ++k) {
    if (k == core_.host_me) continue;
    errno = 0;
    set_reach(k, told.of_host.subspan(static_cast<std::size_t>(k) * Brought::kHostWords, Brought::kHostWords));
    const int rank = core_.host[k];
    if (shared && !core_.at(rank).direct) {
      return fail(
          Errc::no_memory,
          fmt::format("rank {} cannot map the window memory of rank {}: {}", core_.world(core_.me), core_.world(rank),
                      os::lacks_descriptors(errno) ? fault_text(Fault::descriptors) : std::strerror(errno)));
    }
  }
  if (shared) place_shared();
  core_.options.hints.same_size &= core_.facts.same_size();
  core_.options.hints.same_disp_unit &= core_.facts.same_unit();
  return {};
}

void WindowMemory::all_have_opened() {
  for (HostMemory& memory : host_) memory.let_go();
  own_.let_go();
}

// Who cannot reach my memory sends packets. I may have to send packets to others nevertheless, for their memory may be
// ordinary where mine is of the heap.
bool WindowMemory::is_served() const {
  // What is too large for the heap one of the host may have no room to map.
  return core_.size() > (core_.shares && !own_ ? core_.host.size() : 1);
}

void WindowMemory::reach_mine() {
  Reach& t = core_.at(core_.me);
  const Fact mine = brought().fact;
  t.size = mine.size;
  t.unit = mine.unit;
  t.shift = static_cast<std::uint8_t>(mine.shift);
  t.direct = t.near = true;
  t.plain = !core_.is_dynamic();
  t.base = core_.is_dynamic() ? nullptr : core_.base;
  t.control = core_.control;
  t.alone = !core_.shares;
}

// The way to the memory of another one on my host.
void WindowMemory::set_reach(int place, std::span<const std::uint64_t> words) {
  const int rank = core_.host[place];
  core_.look_up(rank);
  Reach& t = core_.at(rank);
  const auto map = [&]() -> HostMemory& {
    host_.resize(static_cast<std::size_t>(core_.host.size()));
    return host_[static_cast<std::size_t>(place)] = HostMemory::map(words[kMemory], words[kBytes]);
  };
  if (words[kMemory] != 0 && words[kControl] == 0) {
    const HostMemory& theirs = map();
    if (!theirs || theirs.bytes() < data_at(core_)) return;
    t.control = reinterpret_cast<Control*>(theirs.data());
    t.base = theirs.data() + data_at(core_);
    t.direct = t.near = t.plain = true;
    return;
  }
  if (words[kControl] == 0) {
    t.base = reinterpret_cast<std::byte*>(words[kData]);
    return;
  }
  adi::Device& d = core_.device();
  auto* control = reinterpret_cast<Control*>(d.mem_map(core_.world(rank), words[kControl], control_bytes(core_)));
  if (!control) return;
  std::byte* const base = words[kMemory] != 0 ? map().data() : d.mem_map(core_.world(rank), words[kData], 0);
  if (!base && t.size != 0) return;
  t.base = base;
  t.control = control;
  t.direct = true;
  t.plain = !core_.is_dynamic();
  t.near = core_.shares;
}

// A member on another host than the first one, or -1.
int WindowMemory::elsewhere() const {
  if (core_.host.size() == core_.size()) return -1;
  const adi::Device& d = core_.device();
  const bool foreign = d.any_foreign(core_.options.ranks);
  int i = 1;
  while (d.host_of(core_.world(i), foreign) == d.host_of(core_.world(0), foreign)) ++i;
  return i;
}

void WindowMemory::place_shared() {
  if (core_.options.hints.noncontiguous) return;
  // The first member has allocated for all: one behind the other.
  std::byte* next = core_.at(0).base;
  for (int i = 0; i < core_.size(); ++i) {
    core_.at(i).base = next;
    next += core_.at(i).size;
  }
  core_.base = core_.at(core_.me).base;
}

Fault WindowMemory::query(int rank, SharedMemory& memory) const {
  if (core_.is_dynamic()) return Fault::shared;
  for (int k = 0; rank < 0 && k < core_.host.size(); ++k) {
    const int i = core_.host[k];
    if (core_.at(i).direct && core_.at(i).size > 0) rank = i;
  }
  memory = {};
  if (rank < 0) return Fault::none;
  const Reach& t = core_.at(rank);
  memory.disp_unit = core_.facts[rank].unit;
  if (!t.direct || t.size == 0) return Fault::none;
  memory.base = t.base;
  memory.size = t.size;
  return Fault::none;
}

}  // namespace rmq::rma
