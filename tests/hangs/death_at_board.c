// SPDX-License-Identifier: BSD-3-Clause
// ranks: 4
// code: 137
// says: rank 1 .*was killed by signal 9 \(SIGKILL\)
#include <mpi.h>
#include <signal.h>

int main(int argc, char** argv) {
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int i = 0; i < 8; ++i) MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 1) raise(SIGKILL);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
