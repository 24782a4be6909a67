// SPDX-License-Identifier: BSD-3-Clause
// ranks: 3
// code: 125
// says: ^mismatched collectives: .* on MPI_COMM_WORLD: as call 2, rank 0 called MPI_Barrier, ranks 1 and 2 called MPI_Bcast
#include <mpi.h>

int main(int argc, char** argv) {
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  int value = rank;
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank != 0) MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
