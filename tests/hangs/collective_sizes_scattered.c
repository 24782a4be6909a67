// SPDX-License-Identifier: BSD-3-Clause
// ranks: 4
// over: shm
// code: 125
// says: ^mismatched collective sizes: The ranks do not agree on the size of MPI_Reduce_scatter_block, call 1 on MPI_COMM_WORLD: rank 3 passed 96000 bytes, ranks 0-2 passed 192000 bytes
// So few bytes that one rank takes another algorithm than the others.
#include <mpi.h>
#include <stdlib.h>

int main(int argc, char** argv) {
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const int count = 12000;
  int* in = calloc(4 * count, sizeof(int));
  int* out = calloc(count, sizeof(int));
  MPI_Reduce_scatter_block(in, out, rank == 3 ? count / 2 : count, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  free(in);
  free(out);
  MPI_Finalize();
  return 0;
}
