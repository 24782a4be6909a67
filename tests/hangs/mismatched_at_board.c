// SPDX-License-Identifier: BSD-3-Clause
// ranks: 3
// code: 125
// says: ^mismatched collectives: .* on MPI_COMM_WORLD: as call 9, ranks 1 and 2 called MPI_Allreduce, rank 0 called MPI_Barrier
// After so many calls the ranks of one host meet at a board, which must keep calls apart as messages do.
#include <mpi.h>

int main(int argc, char** argv) {
  int rank, sum;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int i = 0; i < 8; ++i) MPI_Barrier(MPI_COMM_WORLD);
  if (rank != 0) MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
