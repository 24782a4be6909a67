#include "rma/window_memory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

namespace rmq::rma {
namespace {

// The words of a contribution. kUnit: above the 32 bits of the unit, the shift of the regions. kData: a token, or
// without a control an address of that process.
enum Word : std::size_t { kFault, kSize, kUnit, kData, kControl, kMemory, kBytes, kTypeBytes };

// Where the data begins in the memory of a shared window's member: on a page, behind the control.
std::uint64_t data_at(std::size_t members) {
  constexpr std::uint64_t kPage = 4096;
  return (Control::bytes(members) + kPage - 1) / kPage * kPage;
}

}  // namespace

WindowMemory::~WindowMemory() {
  if (!host_.empty()) return;
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
  // Packets may come before open(): whoever has the last contribution first begins.
  if (trouble_ == Fault::none) set_reach(core_.me, contribution());
}

// A shared window: control and data in one piece of memory for each member; together, the first one's holds all data.
void WindowMemory::take_host_memory() {
  std::uint64_t bytes = core_.options.size;
  if (!core_.options.hints.noncontiguous) {
    bytes = 0;
    for (const std::uint64_t size : core_.options.sizes) bytes += size;
    if (core_.me != 0) bytes = 0;
  }
  const std::size_t n = core_.options.ranks.size();
  core_.shares = true;
  host_.resize(n);
  HostMemory& mine = host_[static_cast<std::size_t>(core_.me)];
  mine = HostMemory::make(data_at(n) + bytes);
  if (!mine) {
    trouble_ = Fault::no_memory;
    return;
  }
  core_.control = Control::make(mine.data(), n);
  core_.base = mine.data() + data_at(n);
}

void WindowMemory::take_heap_memory() {
  adi::Device& d = core_.device();
  const std::size_t n = core_.options.ranks.size();
  if (core_.options.flavor == Flavor::create) core_.base = static_cast<std::byte*>(core_.options.base);
  if (core_.options.flavor == Flavor::allocate) {
    allocated_ = d.MPID_Mem_alloc(std::max<std::uint64_t>(core_.options.size, kCacheLine));
    core_.base = static_cast<std::byte*>(allocated_);
    if (!allocated_) trouble_ = Fault::no_memory;
  }
  // The control lies where the data is: shared, or not. What holds no data is shared as a matter of course.
  core_.shares =
      !core_.is_dynamic() && (core_.options.size == 0 || d.MPID_Mem_token(core_.base, core_.options.size) != 0);
  void* memory = core_.shares ? d.MPID_Mem_alloc(Control::bytes(n)) : nullptr;
  if (memory && d.MPID_Mem_token(memory, Control::bytes(n)) == 0) {
    d.MPID_Mem_free(memory);
    memory = nullptr;
  }
  core_.shares = memory != nullptr;
  if (!core_.shares)
    memory = std::aligned_alloc(kCacheLine, (Control::bytes(n) + kCacheLine - 1) / kCacheLine * kCacheLine);
  if (!memory) {
    trouble_ = Fault::no_memory;
    return;
  }
  core_.control = Control::make(memory, n);
}

std::array<std::uint64_t, WindowMemory::kWords> WindowMemory::contribution() const {
  std::array<std::uint64_t, kWords> words{};
  const adi::Device& d = core_.device();
  words[kFault] = static_cast<std::uint64_t>(trouble_);
  words[kSize] = core_.options.size;
  const unsigned shift = Regions::shift_for(core_.options.size, core_.options.hints.granularity);
  words[kUnit] = static_cast<std::uint32_t>(core_.options.disp_unit) | std::uint64_t{shift} << 32;
  words[kTypeBytes] = d.config().rma_type_bytes;
  if (!host_.empty()) {
    const HostMemory& mine = host_[static_cast<std::size_t>(core_.me)];
    if (mine) words[kMemory] = mine.ticket();
    words[kBytes] = mine.bytes();
  } else if (core_.shares) {
    words[kData] = core_.base ? d.MPID_Mem_token(core_.base, core_.options.size) : 0;
    words[kControl] = d.MPID_Mem_token(core_.control, Control::bytes(core_.options.ranks.size()));
  } else if (!core_.is_dynamic()) {
    words[kData] = reinterpret_cast<std::uintptr_t>(core_.base);
  }
  return words;
}

Result<void> WindowMemory::open(std::span<const std::uint64_t> all) {
  for (int i = 0; i < core_.size(); ++i) {
    const auto words = all.subspan(static_cast<std::size_t>(i) * kWords, kWords);
    if (words[kFault] != 0)
      return fail(Errc::no_memory, fmt::format("rank {} has no memory for a window", core_.world(i)));
    set_reach(i, words);
    core_.type_bytes.push_back(words[kTypeBytes]);
  }
  if (core_.options.flavor == Flavor::shared) {
    if (const int other = elsewhere(); other >= 0) {
      return fail(Errc::argument, fmt::format("ranks {} and {} are on different hosts: they cannot share memory",
                                              core_.world(0), core_.world(other)));
    }
    for (int i = 0; i < core_.size(); ++i) {
      if (!core_.at(i).direct) {
        return fail(Errc::no_memory, fmt::format("rank {} cannot map the window memory of rank {}",
                                                 core_.world(core_.me), core_.world(i)));
      }
    }
    place_shared();
  }
  for (int i = 0; i < core_.size(); ++i) core_.at(i).plain = core_.at(i).direct && !core_.is_dynamic();
  for (int i = 0; i < core_.size(); ++i) {
    core_.options.hints.same_size &= core_.at(i).size == core_.at(0).size;
    core_.options.hints.same_disp_unit &= core_.at(i).unit == core_.at(0).unit;
  }
  return {};
}

// Who cannot reach my memory sends packets. I may have to send packets to others nevertheless, for their memory may be
// ordinary where mine is of the heap.
bool WindowMemory::is_served() const {
  for (int i = 0; i < core_.size(); ++i) {
    if (i != core_.me && !(core_.shares && is_near(i))) return true;
  }
  return false;
}

/// On my host.
bool WindowMemory::is_near(int rank) const {
  return core_.device().job().host_of_rank.same(core_.world(rank), core_.world(core_.me));
}

void WindowMemory::set_reach(int rank, std::span<const std::uint64_t> words) {
  Reach& t = core_.at(rank);
  t.size = words[kSize];
  t.unit = static_cast<std::uint32_t>(words[kUnit]);
  t.shift = static_cast<std::uint8_t>(words[kUnit] >> 32);
  if (rank == core_.me) {
    t.direct = t.near = true;
    t.base = core_.is_dynamic() ? nullptr : core_.base;
    t.control = core_.control;
    t.contended = core_.shares;
    return;
  }
  const std::uint64_t bytes = Control::bytes(core_.options.ranks.size());
  if (words[kMemory] != 0) {
    HostMemory& theirs = host_[static_cast<std::size_t>(rank)];
    if (is_near(rank)) theirs = HostMemory::map(words[kMemory], words[kBytes]);
    if (!theirs || theirs.bytes() < data_at(core_.options.ranks.size())) return;
    t.control = reinterpret_cast<Control*>(theirs.data());
    t.base = theirs.data() + data_at(core_.options.ranks.size());
    t.direct = t.near = true;
    return;
  }
  if (words[kControl] == 0) {
    t.base = is_near(rank) ? reinterpret_cast<std::byte*>(words[kData]) : nullptr;
    return;
  }
  auto* control = reinterpret_cast<Control*>(core_.device().MPID_Mem_map(core_.world(rank), words[kControl], bytes));
  if (!control) return;
  std::byte* const base = core_.device().MPID_Mem_map(core_.world(rank), words[kData], 0);
  if (!base && t.size != 0) return;
  t.base = base;
  t.control = control;
  t.direct = true;
  t.near = core_.shares;
}

// A member on another host than the first one, or -1.
int WindowMemory::elsewhere() const {
  const Hosts& hosts = core_.device().job().host_of_rank;
  for (int i = 1; i < core_.size(); ++i) {
    if (!hosts.same(core_.world(i), core_.world(0))) return i;
  }
  return -1;
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
  for (int i = 0; rank < 0 && i < core_.size(); ++i) {
    if (core_.at(i).direct && core_.at(i).size > 0) rank = i;
  }
  memory = {};
  if (rank < 0) return Fault::none;
  const Reach& t = core_.at(rank);
  memory.disp_unit = static_cast<int>(t.unit);
  if (!t.direct || t.size == 0) return Fault::none;
  memory.base = t.base;
  memory.size = t.size;
  return Fault::none;
}

}  // namespace rmq::rma
