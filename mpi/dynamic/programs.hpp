// SPDX-License-Identifier: BSD-3-Clause
// What a new world is to be made of: the arguments of MPI_Comm_spawn_multiple as the launcher's wish (wish.hpp).
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>

#include "mpi/include/mpi.h"

namespace rmq::mpi {

/// As the root's arguments have it.
struct Programs {
  int count;
  char* const* commands;
  char** const* argvs;  // MPI_ARGVS_NULL: none
  const int* maxprocs;
  const MPI_Info* infos;  // nullptr: none
};

/// The launcher refuses what it does not understand of the values. `processes`: how many are asked for, which is told
/// before anything is found wrong but their number. Throws MPI_ERR_ARG, MPI_ERR_SPAWN, MPI_ERR_INFO.
nlohmann::json describe(const Programs& programs, std::uint64_t& processes);

}  // namespace rmq::mpi
