// SPDX-License-Identifier: BSD-3-Clause
// ranks: 3
// over: tcp
// code: 101
// says: rank 1 .*MPI_Recv: world rank 2 is lost: rank 2 .*cannot be reached: no file descriptor left here
// What is lost is part of a partitioned send, which nobody completes.
#include <mpi.h>
#include <stdlib.h>
#include <sys/resource.h>

int main(int argc, char** argv) {
  int rank, x[4] = {0};
  const struct rlimit none = {0, 0};
  MPI_Request request;
  setenv("RMQ_TCP_CONNECT_TIMEOUT", "300ms", 1);
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 1) {
    setrlimit(RLIMIT_NOFILE, &none);
    MPI_Psend_init(x, 4, 1, MPI_INT, 2, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    MPI_Start(&request);
    MPI_Pready_range(0, 3, request);
    MPI_Recv(x, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  } else if (rank == 2) {
    MPI_Precv_init(x, 4, 1, MPI_INT, 1, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    MPI_Start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Send(x, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
  } else {
    MPI_Recv(x, 1, MPI_INT, 2, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(x, 1, MPI_INT, 1, 1, MPI_COMM_WORLD);
  }
  MPI_Finalize();
  return 0;
}
