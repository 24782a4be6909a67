// SPDX-License-Identifier: BSD-3-Clause
// ranks: 3
// code: 125
// says: ^missing collective: rank 2 has not come to MPI_Barrier, call 9 on MPI_COMM_WORLD, where ranks 0 and 1 wait
#include <mpi.h>

int main(int argc, char** argv) {
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int i = 0; i < 8; ++i) MPI_Barrier(MPI_COMM_WORLD);
  if (rank != 2) MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
