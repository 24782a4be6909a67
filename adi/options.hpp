// SPDX-License-Identifier: BSD-3-Clause
// What a device is made with.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "adi/makers.hpp"
#include "adi/simulation.hpp"
#include "base/config.hpp"
#include "base/packet/request.hpp"

namespace rmq::adi {

class Core;

struct DeviceOptions {
  Config config;
  const Simulation* simulation = nullptr;  // outlives the device; nullptr: there is a machine
  bool threads = false;                    // several threads call (MPI_THREAD_MULTIPLE)
  bool connect = true;                     // MPID_Init reaches the other ranks; else connect does, later
  std::uint32_t call = 0;                  // call_id() of the function that makes the device, for the flight recorder
  bool sleep_for_ever = false;  // sleeps end by a ring only: for tests, where a wake-up that is lost shall show
  /// Asked of each send or receive that ends with Errc::peer_lost, just before: whether on_lost shall hear of it.
  bool (*minds)(const Request& message) = nullptr;
  /// Hears of each of those when the device knows why the peer is lost (peer_error()); the device held. It may end the
  /// process.
  void (*on_lost)(Core& device, Rank peer) = nullptr;
  /// Hears when a job that this one is connected with has ended badly. It may end the process.
  void (*on_parted)(std::span<const std::uint64_t> jobs, int rank, bool line_has_ended) = nullptr;
  /// Methods to use instead of those that the configuration names, in order of preference (tests, simulation).
  std::vector<MethodMaker> methods;
};

}  // namespace rmq::adi
