// ranks: 2
// code: 3
// says: rank 1 .*exited with code 3 without calling MPI_Finalize
#include <mpi.h>
#include <stdlib.h>

int main(int argc, char** argv) {
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  int value;
  if (rank == 1) exit(3);
  MPI_Recv(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Finalize();
  return 0;
}
