// SPDX-License-Identifier: BSD-3-Clause
// ranks: 2
// code: 125
// says: ^wrong communicator: The ranks call MPI_Allreduce on different communicators, .* rank 0 on MPI_COMM_WORLD, rank 1 on copy
#include <mpi.h>

int main(int argc, char** argv) {
  int rank, sum;
  MPI_Comm copy;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  MPI_Comm_set_name(copy, "copy");
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, rank != 0 ? copy : MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
