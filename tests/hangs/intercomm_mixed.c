// SPDX-License-Identifier: BSD-3-Clause
// ranks: 4
// code: 125
// says: ^mismatched collectives: .* as call 1, ranks 1 and 3 called MPI_Barrier, ranks 0 and 2 called MPI_Bcast
#include <mpi.h>

int main(int argc, char** argv) {
  int rank, value = 0;
  MPI_Comm half, both;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 7, &both);
  if (rank % 2 != 0) {
    MPI_Barrier(both);
  } else {
    MPI_Bcast(&value, 1, MPI_INT, 0, both);
  }
  MPI_Finalize();
  return 0;
}
