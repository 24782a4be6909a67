// SPDX-License-Identifier: BSD-3-Clause
// ranks: 2
// code: 125
// says: ^wrong tag: Rank 1 waits in MPI_Recv for a message from rank 0 with tag 2 on MPI_COMM_WORLD, which nobody sends; it has a message from rank 0 with tag 1 on MPI_COMM_WORLD \(4 bytes\)
// says: ^ +1 +waits .*1 posted, 2 unexpected \(772 bytes\)
#include <mpi.h>

int main(int argc, char** argv) {
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  int value = rank;
  if (rank == 0) MPI_Send(&value, 1, MPI_INT, 1, 1, MPI_COMM_WORLD);
  if (rank == 1) MPI_Recv(&value, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Finalize();
  return 0;
}
