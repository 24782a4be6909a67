// SPDX-License-Identifier: BSD-3-Clause
// Mutexes over the regions of one rank's window memory: what makes accumulates atomic, element by element, whoever
// executes them.
//
// Everything that accumulates takes them, single elements too: an element changed by a CPU atomic here and, at the same
// time, by a vectorised loop under a mutex there would lose one of the changes. A mutex that nobody contends costs one
// atomic exchange, which is what the CPU atomic costs.
//
// A guard holds one region, or neighbours while an element lies across their borders; it takes their mutexes in rising
// order, and lets go of everything before it goes down. So there is no deadlock.
#pragma once

#include <cstddef>
#include <cstdint>

#include "adi/device.hpp"
#include "base/ranks.hpp"
#include "rma/memory/control.hpp"

namespace rmq::rma {

struct Regions {
  Control* control = nullptr;     // null: nobody else can get at the memory, no mutex is needed
  std::byte* base = nullptr;      // of the window memory, here
  unsigned shift = 0;             // log2 of a region's bytes
  int me = 0;                     // place in the window
  adi::Device* device = nullptr;  // asked whether a holder lives; null: all do
  const Ranks* world = nullptr;   // world ranks of the members
  bool atomic = false;            // numbers of 4 and 8 bytes are changed by CPU atomics (Hints::cpu_atomics)

  /// The shift for a window of so many bytes: regions of a power of two, 256 bytes at least; or as fine as the program
  /// wishes (`granularity` bytes, if not 0), so that several regions may share a mutex.
  static unsigned shift_for(std::uint64_t bytes, std::uint64_t granularity);
};

class RegionGuard {
 public:
  explicit RegionGuard(const Regions& regions) : regions_(regions) {}
  ~RegionGuard() { let_go(); }
  RegionGuard(const RegionGuard&) = delete;
  RegionGuard& operator=(const RegionGuard&) = delete;

  /// Holds what elements of `size` bytes from `at` on need, as many of `count` as begin in the region of `at`; returns
  /// how many those are, at least 1.
  std::uint64_t cover(const std::byte* at, std::uint64_t size, std::uint64_t count) {
    if (regions_.control == nullptr) return count;
    return take(static_cast<std::uint64_t>(at - regions_.base), size, count);
  }

 private:
  static constexpr std::uint64_t kNone = ~std::uint64_t{0};

  std::uint64_t take(std::uint64_t offset, std::uint64_t size, std::uint64_t count);
  static bool needs_all(std::uint64_t first, std::uint64_t last);
  void hold(std::uint64_t first, std::uint64_t last);
  void lock(std::uint64_t region);
  void unlock(std::uint64_t region);
  void let_go();

  const Regions& regions_;
  std::uint64_t first_ = kNone, last_ = kNone;  // held
};

}  // namespace rmq::rma
