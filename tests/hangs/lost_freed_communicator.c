// SPDX-License-Identifier: BSD-3-Clause
// ranks: 3
// over: tcp
// code: 101
// says: rank 1 .*MPI_Recv: world rank 2 is lost: rank 2 .*cannot be reached: no file descriptor left here
// The message that is lost belongs to a communicator whose handle has been freed, and so has the request's.
#include <mpi.h>
#include <stdlib.h>
#include <sys/resource.h>

int main(int argc, char** argv) {
  int rank, x = 0;
  const struct rlimit none = {0, 0};
  MPI_Comm comm;
  MPI_Request request;
  setenv("RMQ_TCP_CONNECT_TIMEOUT", "300ms", 1);
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  if (rank == 1) {
    setrlimit(RLIMIT_NOFILE, &none);
    MPI_Isend(&x, 1, MPI_INT, 2, 1, comm, &request);
    MPI_Request_free(&request);
  }
  MPI_Comm_free(&comm);
  MPI_Recv(&x, 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Finalize();
  return 0;
}
