// SPDX-License-Identifier: BSD-3-Clause
// ranks: 2
// code: 125
// says: ^head-to-head sends: Ranks 0, 1 wait for each other: rank 0 waits in MPI_Send for rank 1 to receive what it sends \(4194304 bytes, tag 7\), rank 1 for rank 0\.$
// says: waits +MPI_Send +rank 1 to receive 4194304 bytes with tag 7 on MPI_COMM_WORLD
// Both send before they receive, too much to be sent at once.
#include <mpi.h>
#include <stdlib.h>

int main(int argc, char** argv) {
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const int count = 1 << 20;
  int* data = calloc(count, sizeof(int));
  MPI_Send(data, count, MPI_INT, 1 - rank, 7, MPI_COMM_WORLD);
  MPI_Recv(data, count, MPI_INT, 1 - rank, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  free(data);
  MPI_Finalize();
  return 0;
}
