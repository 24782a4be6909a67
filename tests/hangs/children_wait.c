// SPDX-License-Identifier: BSD-3-Clause
// ranks: 2
// code: 125
// over: shm
// says: ^ +0 +waits +MPI_Recv +a message from rank 1 of job [0-9a-f]{16} with tag 7 on
// says: ^ +1 +waits +MPI_Recv +a message from rank 0 of job [0-9a-f]{16} with tag 7 on
// says: the job hangs
/* Parents and children that wait for each other, crosswise. */
#include <mpi.h>

int main(int argc, char** argv) {
  MPI_Comm parent, children;
  int rank, token = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_get_parent(&parent);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (parent == MPI_COMM_NULL)
    MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &children, MPI_ERRCODES_IGNORE);
  else
    children = parent;
  MPI_Recv(&token, 1, MPI_INT, 1 - rank, 7, children, MPI_STATUS_IGNORE);
  MPI_Finalize();
  return 0;
}
