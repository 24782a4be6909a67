// SPDX-License-Identifier: BSD-3-Clause
// Contexts and teams, as handles name them. What they do: context.hpp, team.hpp.
#pragma once

#include <atomic>
#include <cstdint>
#include <unordered_map>

#include "engine/object/objects.hpp"
#include "shmem/include/rmq_shmem_handles.h"

namespace rmq::shmem {

/// Some PEs in an order of their own.
struct Team {
  mpi::Comm* comm = nullptr;
  shmem_team_config_t config{0};
  enum class Reach : unsigned char { unknown, all, some };
  Reach reach = Reach::unknown;  // whether all members can map each other's symmetric memory: all of them know the same

  int size() const { return comm->size(); }
  int me() const { return comm->rank; }
  int world_pe(int pe) const { return comm->world_of(pe); }
};

struct Context {
  long options = 0;
  Team* team = nullptr;                              // whose PEs its operations name; null: the world's
  std::unordered_map<int, std::uint64_t> under_way;  // PE -> number of the latest operation; the device held
  std::atomic<bool> busy{false};                     // under_way has any
};

}  // namespace rmq::shmem
