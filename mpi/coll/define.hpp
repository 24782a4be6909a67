// SPDX-License-Identifier: BSD-3-Clause
// The three functions of a collective, over one that checks the arguments:
//
//   template <class Run>
//   int bcast(const Run& run, void* buffer, …) {
//     return enter(comm, [&](Comm& c) { …checks…; return run(c, coll::bcast, data, root); });
//   }
//   RMQ_COLLECTIVE(Bcast, bcast, , (void* buffer, …, MPI_Comm comm), bcast(run, buffer, …, comm))
//
// defines MPI_Bcast, MPI_Ibcast and MPI_Bcast_init; with `_c` in the third place those for large counts.
#pragma once

#include "engine/coll/later.hpp"
#include "mpi/define.hpp"

#define RMQ_COLLECTIVE_PARAMETERS(...) __VA_ARGS__
#define RMQ_COLLECTIVE(Name, name, c, parameters, call)                                                        \
  RMQ_MPI(int, Name##c, parameters) {                                                                          \
    const coll::Now run;                                                                                       \
    return call;                                                                                               \
  }                                                                                                            \
  RMQ_MPI(int, I##name##c, (RMQ_COLLECTIVE_PARAMETERS parameters, MPI_Request * request)) {                    \
    const coll::Later run{request};                                                                            \
    return call;                                                                                               \
  }                                                                                                            \
  RMQ_MPI(int, Name##_init##c, (RMQ_COLLECTIVE_PARAMETERS parameters, MPI_Info info, MPI_Request * request)) { \
    const coll::Repeated run{info, request};                                                                   \
    return call;                                                                                               \
  }
