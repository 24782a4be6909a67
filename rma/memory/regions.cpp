// SPDX-License-Identifier: BSD-3-Clause
#include "rma/memory/regions.hpp"

#include <sched.h>

#include <algorithm>
#include <bit>

#include "base/os/atomic.hpp"

namespace rmq::rma {
namespace {

constexpr unsigned kLeastShift = 10;
constexpr unsigned kFinestShift = 3;  // a number
constexpr int kSpins = 200;           // before the core is offered: a holder that runs is done by then
constexpr int kYieldsToAsk = 64;      // yields between two questions whether the holder still lives

}  // namespace

unsigned Regions::shift_for(std::uint64_t bytes, std::uint64_t granularity) {
  const auto shift = [](std::uint64_t region) {
    return region <= 1 ? 0u : static_cast<unsigned>(std::bit_width(region - 1));
  };
  const unsigned wide = std::max(kLeastShift, shift((bytes + Control::kRegions - 1) / Control::kRegions));
  return granularity == 0 ? wide : std::clamp(shift(granularity), kFinestShift, wide);
}

std::uint64_t RegionGuard::take(std::uint64_t offset, std::uint64_t size, std::uint64_t count) {
  const std::uint64_t region = offset >> regions_.shift;
  const std::uint64_t room = ((region + 1) << regions_.shift) - offset;
  const std::uint64_t begin_here = (room + size - 1) / size;
  const std::uint64_t elements = std::min(count, begin_here);
  const std::uint64_t last = (offset + elements * size - 1) >> regions_.shift;
  if (first_ == region && last_ == last) return elements;
  const bool apart = region != first_ && region != last_;
  if (first_ != kNone && (apart || needs_all(region, last) || needs_all(first_, last_))) let_go();
  if (first_ == kNone) {
    hold(region, last);
    return elements;
  }
  for (; first_ < region; ++first_) unlock(first_);
  while (last_ > last && last_ > region) unlock(last_--);
  if (last_ < last && last % Control::kRegions < last_ % Control::kRegions) {
    let_go();
    hold(region, last);
  }
  while (last_ < last) lock(++last_);
  return elements;
}

// Regions so many that some share a mutex.
bool RegionGuard::needs_all(std::uint64_t first, std::uint64_t last) {
  return last - first >= Control::kRegions;
}

// Holding none: where the mutexes begin again among these, those at the beginning come first.
void RegionGuard::hold(std::uint64_t first, std::uint64_t last) {
  const std::uint64_t wrap = last / Control::kRegions * Control::kRegions;
  if (needs_all(first, last)) {
    for (std::uint64_t mutex = 0; mutex < Control::kRegions; ++mutex) lock(mutex);
  } else if (wrap > first) {
    for (std::uint64_t region = wrap; region <= last; ++region) lock(region);
    for (std::uint64_t region = first; region < wrap; ++region) lock(region);
  } else {
    for (std::uint64_t region = first; region <= last; ++region) lock(region);
  }
  first_ = first;
  last_ = last;
}

void RegionGuard::lock(std::uint64_t region) {
  Atomic<std::uint32_t>& holder = regions_.control->regions[region % Control::kRegions].holder;
  const auto mine = static_cast<std::uint32_t>(regions_.me + 1);
  for (int spins = 0;; ++spins) {
    std::uint32_t expected = 0;
    // Acquire pairs with unlock()'s release: what the holder before has done.
    if (holder.compare_exchange_strong(expected, mine, std::memory_order_acquire, std::memory_order_relaxed)) return;
    if (spins < kSpins) {
      os::relax();
      continue;
    }
    ::sched_yield();
    if (spins % kYieldsToAsk != 0 || expected == mine) continue;
    // A holder that was killed will not come back: its mutex is taken over. The loss itself is reported elsewhere.
    const bool gone = regions_.device && regions_.device->is_gone((*regions_.world)[expected - 1]);
    if (gone && holder.compare_exchange_strong(expected, mine, std::memory_order_acquire, std::memory_order_relaxed))
      return;
  }
}

void RegionGuard::unlock(std::uint64_t region) {
  regions_.control->regions[region % Control::kRegions].holder.store(0, std::memory_order_release);
}

void RegionGuard::let_go() {
  if (first_ == kNone) return;
  if (needs_all(first_, last_)) last_ = first_ + Control::kRegions - 1;  // each mutex once
  for (; first_ <= last_; ++first_) unlock(first_);
  first_ = last_ = kNone;
}

}  // namespace rmq::rma
