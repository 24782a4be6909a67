// SPDX-License-Identifier: BSD-3-Clause
// ranks: 2
// code: 3
// says: rank 1 .*exited with code 3 without calling MPI_Finalize
// says: rank 0 .*needed it: .*MPI_Recv
#include <mpi.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char** argv) {
  int rank, value;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 1) {
    sleep(1);  // the other waits by now
    exit(3);
  }
  MPI_Recv(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Finalize();
  return 0;
}
