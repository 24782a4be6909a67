// ranks: 3
// code: 125
// says: ^mismatched collective sizes: The ranks do not agree on the size of MPI_Bcast, call 1 on MPI_COMM_WORLD: rank 0 passed 8 bytes, ranks 1 and 2 passed 8388608 bytes
// The root sends less than the others want, who take another algorithm and wait for the rest.
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
