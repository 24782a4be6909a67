// SPDX-License-Identifier: BSD-3-Clause
// ranks: 2
// code: 14
// says: rank 1 .*MPI_Recv: the message from rank 0 with tag 4 is longer than the receive buffer of 8 bytes
#include <mpi.h>

int main(int argc, char** argv) {
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  int data[4] = {rank};
  if (rank == 0) MPI_Send(data, 4, MPI_INT, 1, 4, MPI_COMM_WORLD);
  if (rank == 1) MPI_Recv(data, 2, MPI_INT, 0, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Finalize();
  return 0;
}
