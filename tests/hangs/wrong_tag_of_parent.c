// SPDX-License-Identifier: BSD-3-Clause
// ranks: 1
// code: 125
// says: ^wrong tag: Rank 0 waits in MPI_Recv for a message from rank 0 of job .* with tag 5 .*; it has a message from rank 0 of job .* with tag 6
// Parent and child hang together, and neither can send any more: whichever of the two jobs tells first.
#include <mpi.h>

int main(int argc, char** argv) {
  int value = 0;
  MPI_Comm parent, other;
  MPI_Init(&argc, &argv);
  MPI_Comm_get_parent(&parent);
  other = parent;
  if (parent == MPI_COMM_NULL)
    MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &other, MPI_ERRCODES_IGNORE);
  MPI_Send(&value, 1, MPI_INT, 0, 6, other);
  MPI_Recv(&value, 1, MPI_INT, 0, 5, other, MPI_STATUS_IGNORE);
  MPI_Finalize();
  return 0;
}
