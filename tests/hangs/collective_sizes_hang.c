// SPDX-License-Identifier: BSD-3-Clause
// ranks: 2
// code: 125
// with: -x RMQ_COLL=bcast=chain
// says: ^mismatched collective sizes: The ranks do not agree on the size of MPI_Bcast, call 1 on MPI_COMM_WORLD: rank 0 passed 8 bytes, rank 1 passed 8388608 bytes
// The root sends less than the other wants, who waits for the rest.
#include <mpi.h>
#include <stdlib.h>

int main(int argc, char** argv) {
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const int count = 1 << 20;
  double* data = calloc(count, sizeof(double));
  MPI_Bcast(data, rank == 0 ? 1 : count, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  free(data);
  MPI_Finalize();
  return 0;
}
