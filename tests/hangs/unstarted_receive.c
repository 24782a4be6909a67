// SPDX-License-Identifier: BSD-3-Clause
// ranks: 2
// code: 125
// says: ^request not started: Rank 0 waits in MPI_Ssend .*; rank 1 has a persistent receive from it that is not started
#include <mpi.h>

int main(int argc, char** argv) {
  int rank, value = 1;
  MPI_Request request;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) {
    MPI_Ssend(&value, 1, MPI_INT, 1, 4, MPI_COMM_WORLD);
  } else {
    MPI_Recv_init(&value, 1, MPI_INT, 0, MPI_ANY_TAG, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
