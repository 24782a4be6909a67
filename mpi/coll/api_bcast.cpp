// Chapter 6: barrier and broadcast.
#include "mpi/coll/args.hpp"

namespace rmq::mpi {
namespace {

int bcast(void* buffer, MPI_Count count, MPI_Datatype datatype, int root, MPI_Comm comm,
          const char* function = __builtin_FUNCTION()) {
  return enter(
      comm,
      [&](Comm& c) {
        const int from = root_arg(c, root);
        const bool idle = from == MPI_PROC_NULL;
        return coll::bcast(c, idle ? coll::no_buffer() : buffer_arg(buffer, count, datatype, "buffer"), from);
      },
      function);
}

}  // namespace

RMQ_MPI(int, Barrier, (MPI_Comm comm)) {
  return enter(comm, [](Comm& c) { return coll::barrier(c); });
}

RMQ_MPI(int, Bcast, (void* buffer, int count, MPI_Datatype datatype, int root, MPI_Comm comm)) {
  return bcast(buffer, count, datatype, root, comm);
}

RMQ_MPI(int, Bcast_c, (void* buffer, MPI_Count count, MPI_Datatype datatype, int root, MPI_Comm comm)) {
  return bcast(buffer, count, datatype, root, comm);
}

}  // namespace rmq::mpi
