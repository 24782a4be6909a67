// SPDX-License-Identifier: BSD-3-Clause
// ranks: 2
// code: 5
// says: MPI_Send: argument comm is a communicator that has been freed \(MPI_Comm_free\)
#include <mpi.h>

int main(int argc, char** argv) {
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm comm, copy;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  copy = comm;
  MPI_Comm_free(&comm);
  int value = rank;
  if (rank == 0) MPI_Send(&value, 1, MPI_INT, 1, 0, copy);
  if (rank == 1) MPI_Recv(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Finalize();
  return 0;
}
