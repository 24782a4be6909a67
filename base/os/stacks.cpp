// SPDX-License-Identifier: BSD-3-Clause
#include "base/os/stacks.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <bit>
#include <cstdint>
#include <map>
#include <mutex>
#include <new>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif

namespace rmq::os {
namespace {

constexpr int kStacks = 64;  // of a slab
constexpr int kMostProtected = 8192;
constexpr int kGuardInstall = 102;  // MADV_GUARD_INSTALL, which older headers do not name

std::size_t page() {
  static const auto bytes = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return bytes;
}
std::size_t stride() {
  return page() + kStackBytes;
}

// Bits for its stacks.
struct Slab {
  std::uint64_t free = ~std::uint64_t{0};
  std::uint64_t guarded = 0, split = 0;  // the page before it faults; by protection, which splits the mapping
};

// By address. The mutex holds these and all below.
std::mutex mutex;
std::map<std::byte*, Slab>& slabs() {
  static auto* const all = new std::map<std::byte*, Slab>;  // for fibers that outlive main()
  return *all;
}
std::byte* roomy = nullptr;  // a slab that may have a free stack
int splits = 0;

// The page before a stack, which faults from now on, if the system can afford that.
void guard(Slab& slab, std::uint64_t bit, std::byte* at) {
  if ((slab.guarded & bit) != 0) return;
  if (::madvise(at, page(), kGuardInstall) == 0) {
    slab.guarded |= bit;
  } else if (splits < kMostProtected && ::mprotect(at, page(), PROT_NONE) == 0) {
    slab.guarded |= bit;
    slab.split |= bit;
    ++splits;
  }
}

std::byte* new_slab() {
  void* const memory = ::mmap(nullptr, kStacks * stride(), PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  ::madvise(memory, kStacks * stride(), MADV_NOHUGEPAGE);  // a page or two of each are used
  auto* const slab = static_cast<std::byte*>(memory);
  slabs().emplace(slab, Slab{});
  return slab;
}

std::byte* find_room() {
  if (roomy && slabs()[roomy].free != 0) return roomy;
  for (const auto& [at, slab] : slabs()) {
    if (slab.free != 0) return at;
  }
  return new_slab();
}

}  // namespace

std::byte* take_stack() {
  const std::lock_guard lock(mutex);
  roomy = find_room();
  Slab& slab = slabs()[roomy];
  const int index = std::countr_zero(slab.free);
  const std::uint64_t bit = std::uint64_t{1} << index;
  slab.free &= ~bit;
  std::byte* const at = roomy + static_cast<std::size_t>(index) * stride();
  guard(slab, bit, at);
  return at + page();
}

void give_stack(std::byte* stack) {
  const std::lock_guard lock(mutex);
#if defined(__SANITIZE_ADDRESS__)
  __asan_unpoison_memory_region(stack, kStackBytes);  // of frames that were never left
#endif
  const auto place = --slabs().upper_bound(stack);
  Slab& slab = place->second;
  slab.free |= std::uint64_t{1} << static_cast<std::size_t>(stack - place->first) / stride();
  if (slab.free == ~std::uint64_t{0}) {
    splits -= std::popcount(slab.split);
    ::munmap(place->first, kStacks * stride());
    if (roomy == place->first) roomy = nullptr;
    slabs().erase(place);
    return;
  }
  ::madvise(stack, kStackBytes, MADV_DONTNEED);
  roomy = place->first;
}

}  // namespace rmq::os
