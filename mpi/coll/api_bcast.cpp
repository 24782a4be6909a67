// SPDX-License-Identifier: BSD-3-Clause
// Chapter 6: barrier and broadcast.
#include "mpi/coll/define.hpp"

namespace rmq::mpi {
namespace {

template <class Run>
int bcast(const Run& run, void* buffer, MPI_Count count, MPI_Datatype datatype, int root, MPI_Comm comm,
          Function function = __builtin_FUNCTION()) {
  return enter(
      comm,
      [&](Comm& c) {
        const int from = root_arg(c, root);
        const bool idle = from == MPI_PROC_NULL;
        const Buffer data = idle ? coll::no_buffer() : buffer_arg(buffer, count, datatype, "buffer");
        return run(c, coll::bcast, data, from);
      },
      function);
}

template <class Run>
int barrier(const Run& run, MPI_Comm comm, Function function = __builtin_FUNCTION()) {
  return enter(
      comm, [&](Comm& c) { return run(c, coll::barrier); }, function);
}

}  // namespace

RMQ_COLLECTIVE(Barrier, barrier, , (MPI_Comm comm), barrier(run, comm))

RMQ_COLLECTIVE(Bcast, bcast, , (void* buffer, int count, MPI_Datatype datatype, int root, MPI_Comm comm),
               bcast(run, buffer, count, datatype, root, comm))

RMQ_COLLECTIVE(Bcast, bcast, _c, (void* buffer, MPI_Count count, MPI_Datatype datatype, int root, MPI_Comm comm),
               bcast(run, buffer, count, datatype, root, comm))

}  // namespace rmq::mpi
