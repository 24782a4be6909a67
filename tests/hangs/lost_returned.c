// SPDX-License-Identifier: BSD-3-Clause
// ranks: 3
// over: tcp
// code: 5
// says: rank 1 .*aborted the job with code 5
// Messages that are lost belong to a communicator that has been freed, whose errors are to be returned: the job goes on
// until the program ends it.
#include <mpi.h>
#include <stdlib.h>
#include <sys/resource.h>

int main(int argc, char** argv) {
  int rank, x = 0, flag;
  const struct rlimit none = {0, 0};
  MPI_Comm comm;
  MPI_Request request, waited;
  setenv("RMQ_TCP_CONNECT_TIMEOUT", "300ms", 1);
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  if (rank == 1) {
    setrlimit(RLIMIT_NOFILE, &none);
    MPI_Isend(&x, 1, MPI_INT, 2, 1, comm, &request);
    MPI_Request_free(&request);
    MPI_Isend(&x, 1, MPI_INT, 2, 2, comm, &waited);
  }
  MPI_Comm_free(&comm);
  if (rank == 1) {
    for (const double end = MPI_Wtime() + 1; MPI_Wtime() < end;)
      MPI_Iprobe(0, 1, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    MPI_Abort(MPI_COMM_WORLD, MPI_Wait(&waited, MPI_STATUS_IGNORE) != MPI_SUCCESS ? 5 : 6);
  }
  MPI_Recv(&x, 1, MPI_INT, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Finalize();
  return 0;
}
