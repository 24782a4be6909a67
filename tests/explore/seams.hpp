// SPDX-License-Identifier: BSD-3-Clause
// What the explored sources call that is no memory: the kernel's copies, its fence, and the doorbell.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "base/data/data_view.hpp"
#include "base/rank.hpp"
#include "tests/explore/explorer.hpp"

namespace rmq::explore {

struct Seams {
  /// Called for each single copy, on the thread that makes it: from or to [address, address + bytes) of the peer, and
  /// the same bytes of `here` from `offset` on. Returns an errno.
  std::function<int(bool from_peer, std::uint64_t address, const DataView& here, std::uint64_t offset,
                    std::uint64_t bytes)>
      single_copy;
  /// By rank. A rank that sleeps in Doorbell::wait sleeps until somebody rings; with a limit, which hides a ring that
  /// is lost, only where the model says for the thread that time has something to show.
  std::vector<Bell> bells;
  std::function<bool(int thread)> timed_out;
  /// For mutants: a bit for each thread whose rings for its own rank are lost.
  std::uint32_t mute = 0;
  /// For a mutant: whether threads that sleep beside the one that listens are woken.
  bool wakes = true;
  /// The system has no memory for rings.
  bool no_memory = false;
};
/// Of the schedule that runs.
Seams& seams();

}  // namespace rmq::explore
