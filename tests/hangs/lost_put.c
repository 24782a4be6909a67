// SPDX-License-Identifier: BSD-3-Clause
// ranks: 3
// over: tcp
// code: 101
// says: rank 1 .*MPI_Recv: world rank 2 is lost: rank 2 .*cannot be reached: no file descriptor left here
// What is lost is an operation on a window, whose errors are fatal; the call that would tell of it waits for another.
#include <mpi.h>
#include <stdlib.h>
#include <sys/resource.h>

int main(int argc, char** argv) {
  int rank, x = 0, *memory;
  const struct rlimit none = {0, 0};
  MPI_Win win;
  MPI_Request request;
  setenv("RMQ_TCP_CONNECT_TIMEOUT", "300ms", 1);
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  // Of rank 0 alone to the others: 1 and 2 have not talked to each other.
  MPI_Win_allocate(sizeof x, sizeof x, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  if (rank == 1) {
    MPI_Win_lock(MPI_LOCK_SHARED, 2, 0, win);
    setrlimit(RLIMIT_NOFILE, &none);
    MPI_Rput(&x, 1, MPI_INT, 2, 0, 1, MPI_INT, win, &request);
  }
  MPI_Recv(&x, 1, MPI_INT, (rank + 1) % 2, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Finalize();
  return 0;
}
