// SPDX-License-Identifier: BSD-3-Clause
// ranks: 3
// code: 125
// says: ^missing collective: rank 2 has not come to MPI_Win_free, call 1 on window [0-9]+, where ranks 0 and 1 wait
#include <mpi.h>

int main(int argc, char** argv) {
  int rank;
  void* memory;
  MPI_Win win;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Win_allocate(8, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
  if (rank != 2) MPI_Win_free(&win);
  MPI_Finalize();
  return 0;
}
