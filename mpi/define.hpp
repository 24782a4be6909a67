// SPDX-License-Identifier: BSD-3-Clause
// How an MPI function is defined:
//
//   RMQ_MPI(int, Comm_remote_size, (MPI_Comm comm, int* size)) {
//     return enter(comm, [&](Comm& c) {
//       if (!c.is_inter()) fail_call(MPI_ERR_COMM, "argument comm is no inter-communicator");
//       *out(size, "size") = c.remote_size();
//     });
//   }
//
// RMQ_MPI defines PMPI_x and MPI_x as its weak alias, so that a profiling library can take the second. The frame,
// enter(), is in engine/call/call.hpp, the checks of arguments in engine/call/check.hpp.
#pragma once

#include "engine/call/call.hpp"
#include "mpi/include/mpi.h"

#define RMQ_MPI(result, name, parameters)                                                         \
  extern "C" RMQ_EXPORT __attribute__((weak, alias("PMPI_" #name))) result MPI_##name parameters; \
  extern "C" RMQ_EXPORT result PMPI_##name parameters

/// The same for an extension, MPIX_x.
#define RMQ_MPIX(result, name, parameters)                                                          \
  extern "C" RMQ_EXPORT __attribute__((weak, alias("PMPIX_" #name))) result MPIX_##name parameters; \
  extern "C" RMQ_EXPORT result PMPIX_##name parameters
