// SPDX-License-Identifier: BSD-3-Clause
// ranks: 2
// code: 0
// over: shm
// says: ^the parents have waited$
/* Parents that wait for children who compute for longer than a hang takes: none. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
  MPI_Comm parent, children;
  int rank, token = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_get_parent(&parent);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (parent != MPI_COMM_NULL) {
    const double start = MPI_Wtime();
    volatile double x = 0;
    while (MPI_Wtime() - start < 3) x += 1;
    MPI_Send(&token, 1, MPI_INT, rank, 0, parent);
  } else {
    MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &children, MPI_ERRCODES_IGNORE);
    MPI_Recv(&token, 1, MPI_INT, rank, 0, children, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) printf("the parents have waited\n");
  }
  MPI_Finalize();
  return 0;
}
