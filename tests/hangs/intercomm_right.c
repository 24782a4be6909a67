// SPDX-License-Identifier: BSD-3-Clause
// ranks: 4
// code: 125
// says: ^cycle: Ranks 0, 1 wait for each other: rank 0 waits in MPI_Barrier for rank 1 to come to it, rank 1 waits in MPI_Recv
// The collectives of the inter-communicator are right; a receive is not.
#include <mpi.h>

int main(int argc, char** argv) {
  int rank, value = 0;
  MPI_Comm half, both;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 7, &both);
  for (int i = 0; i < 2; ++i) {
    const int root = rank % 2 != 0 ? 0 : rank == 0 ? MPI_ROOT : MPI_PROC_NULL;
    MPI_Bcast(&value, root == MPI_PROC_NULL ? 0 : 1, MPI_INT, root, both);
  }
  if (rank == 1) MPI_Recv(&value, 1, MPI_INT, 0, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Barrier(both);
  MPI_Finalize();
  return 0;
}
