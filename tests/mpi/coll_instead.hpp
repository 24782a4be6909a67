// SPDX-License-Identifier: BSD-3-Clause
// Lets the suites of the blocking collectives test the others: MPI_Bcast and its like are defined here, as a profiling
// library would, by their non-blocking or persistent forms.
#pragma once

#include <mpi.h>

namespace coll_instead {

enum class Form {
  wait,       // MPI_Ibcast, MPI_Wait
  test,       // MPI_Ibcast, MPI_Test in a loop
  among,      // between two others on the same communicator, completed in reverse order
  persistent  // MPI_Bcast_init, MPI_Start, MPI_Wait, MPI_Request_free
};
inline Form form = Form::wait;
inline int wrong = 0;  // results of the others

struct Others {
  MPI_Request before = MPI_REQUEST_NULL, after = MPI_REQUEST_NULL;
  int one = 1, ranks = 0;

  void begin(MPI_Comm comm) {
    if (form == Form::among) PMPI_Ibarrier(comm, &before);
  }
  int end(MPI_Comm comm, MPI_Request* r, int code) {
    if (code != MPI_SUCCESS) return code;
    switch (form) {
      case Form::wait:
        return PMPI_Wait(r, MPI_STATUS_IGNORE);
      case Form::test:
        for (int done = 0; !done && code == MPI_SUCCESS;) code = PMPI_Test(r, &done, MPI_STATUS_IGNORE);
        return code;
      case Form::among: {
        int inter, expected;
        PMPI_Comm_test_inter(comm, &inter);
        inter ? PMPI_Comm_remote_size(comm, &expected) : PMPI_Comm_size(comm, &expected);
        PMPI_Iallreduce(&one, &ranks, 1, MPI_INT, MPI_SUM, comm, &after);
        PMPI_Wait(&after, MPI_STATUS_IGNORE);
        if (ranks != expected) ++wrong;
        code = PMPI_Wait(r, MPI_STATUS_IGNORE);
        PMPI_Wait(&before, MPI_STATUS_IGNORE);
        return code;
      }
      case Form::persistent:
        PMPI_Start(r);
        code = PMPI_Wait(r, MPI_STATUS_IGNORE);
        PMPI_Request_free(r);
        return code;
    }
    return code;
  }
};

}  // namespace coll_instead

// Parameters as the standard names them, and the same names as arguments; `c` is empty, or _c.
#define COLL_INSTEAD(Name, name, parameters, ...) COLL_INSTEAD_OF(Name, name, , parameters, __VA_ARGS__)
#define COLL_INSTEAD_OF(Name, name, c, parameters, ...)                                                     \
  extern "C" int MPI_##Name##c parameters {                                                                 \
    using namespace coll_instead;                                                                           \
    Others others;                                                                                          \
    MPI_Request request = MPI_REQUEST_NULL;                                                                 \
    others.begin(comm);                                                                                     \
    const int code = form == Form::persistent ? PMPI_##Name##_init##c(__VA_ARGS__, MPI_INFO_NULL, &request) \
                                              : PMPI_I##name##c(__VA_ARGS__, &request);                     \
    return others.end(comm, &request, code);                                                                \
  }

COLL_INSTEAD(Barrier, barrier, (MPI_Comm comm), comm)
COLL_INSTEAD(Bcast, bcast, (void* buffer, int count, MPI_Datatype datatype, int root, MPI_Comm comm), buffer, count,
             datatype, root, comm)
COLL_INSTEAD(Gather, gather,
             (const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount,
              MPI_Datatype recvtype, int root, MPI_Comm comm),
             sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm)
COLL_INSTEAD(Gatherv, gatherv,
             (const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, const int recvcounts[],
              const int displs[], MPI_Datatype recvtype, int root, MPI_Comm comm),
             sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, root, comm)
COLL_INSTEAD(Scatter, scatter,
             (const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount,
              MPI_Datatype recvtype, int root, MPI_Comm comm),
             sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm)
COLL_INSTEAD(Scatterv, scatterv,
             (const void* sendbuf, const int sendcounts[], const int displs[], MPI_Datatype sendtype, void* recvbuf,
              int recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm),
             sendbuf, sendcounts, displs, sendtype, recvbuf, recvcount, recvtype, root, comm)
COLL_INSTEAD(Allgather, allgather,
             (const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount,
              MPI_Datatype recvtype, MPI_Comm comm),
             sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm)
COLL_INSTEAD(Allgatherv, allgatherv,
             (const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, const int recvcounts[],
              const int displs[], MPI_Datatype recvtype, MPI_Comm comm),
             sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, comm)
COLL_INSTEAD(Alltoall, alltoall,
             (const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount,
              MPI_Datatype recvtype, MPI_Comm comm),
             sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm)
COLL_INSTEAD(Alltoallv, alltoallv,
             (const void* sendbuf, const int sendcounts[], const int sdispls[], MPI_Datatype sendtype, void* recvbuf,
              const int recvcounts[], const int rdispls[], MPI_Datatype recvtype, MPI_Comm comm),
             sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype, comm)
COLL_INSTEAD(Alltoallw, alltoallw,
             (const void* sendbuf, const int sendcounts[], const int sdispls[], const MPI_Datatype sendtypes[],
              void* recvbuf, const int recvcounts[], const int rdispls[], const MPI_Datatype recvtypes[],
              MPI_Comm comm),
             sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes, comm)
COLL_INSTEAD(Reduce, reduce,
             (const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op, int root, MPI_Comm comm),
             sendbuf, recvbuf, count, datatype, op, root, comm)
COLL_INSTEAD(Allreduce, allreduce,
             (const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm), sendbuf,
             recvbuf, count, datatype, op, comm)
COLL_INSTEAD(Reduce_scatter, reduce_scatter,
             (const void* sendbuf, void* recvbuf, const int recvcounts[], MPI_Datatype datatype, MPI_Op op,
              MPI_Comm comm),
             sendbuf, recvbuf, recvcounts, datatype, op, comm)
COLL_INSTEAD(Reduce_scatter_block, reduce_scatter_block,
             (const void* sendbuf, void* recvbuf, int recvcount, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm),
             sendbuf, recvbuf, recvcount, datatype, op, comm)
COLL_INSTEAD(Scan, scan,
             (const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm), sendbuf,
             recvbuf, count, datatype, op, comm)
COLL_INSTEAD(Exscan, exscan,
             (const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm), sendbuf,
             recvbuf, count, datatype, op, comm)
