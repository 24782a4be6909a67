// SPDX-License-Identifier: BSD-3-Clause
// ranks: 2
// code: 125
// says: ^wrong communicator: Rank 1 waits in MPI_Recv for a message from rank 0 with tag 5 on MPI_COMM_WORLD, .* tag 5 on twin
#include <mpi.h>

int main(int argc, char** argv) {
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm twin;
  MPI_Comm_dup(MPI_COMM_WORLD, &twin);
  MPI_Comm_set_name(twin, "twin");
  int value = rank;
  if (rank == 0) MPI_Send(&value, 1, MPI_INT, 1, 5, twin);
  if (rank == 1) MPI_Recv(&value, 1, MPI_INT, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Comm_free(&twin);
  MPI_Finalize();
  return 0;
}
