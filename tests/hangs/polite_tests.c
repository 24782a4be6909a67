// SPDX-License-Identifier: BSD-3-Clause
// ranks: 2
// code: 125
// says: ^missing collective: rank 0 has not come to MPI_Barrier, .* it calls MPI_Test again and again, for a message from rank 1 with tag 9 on MPI_COMM_WORLD
// A rank that sleeps between its tests waits as well.
#include <mpi.h>
#include <time.h>

int main(int argc, char** argv) {
  int rank, value, done = 0;
  MPI_Request request;
  const struct timespec pause = {0, 5000000};
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) {
    MPI_Irecv(&value, 1, MPI_INT, 1, 9, MPI_COMM_WORLD, &request);
    while (!done) {
      MPI_Test(&request, &done, MPI_STATUS_IGNORE);
      nanosleep(&pause, NULL);
    }
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
