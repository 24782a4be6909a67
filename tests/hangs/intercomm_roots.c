// SPDX-License-Identifier: BSD-3-Clause
// ranks: 4
// code: 125
// says: ^mismatched roots: .*MPI_Bcast, call 2 on the inter-communicator with context [0-9]+: ranks 0-3 passed 0. One group
// Both groups wait for a root in the other one.
#include <mpi.h>

int main(int argc, char** argv) {
  int rank, value = 0;
  MPI_Comm half, both;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 7, &both);
  MPI_Barrier(both);
  MPI_Bcast(&value, 1, MPI_INT, 0, both);
  MPI_Finalize();
  return 0;
}
