// SPDX-License-Identifier: BSD-3-Clause
// ranks: 2
// code: 125
// says: ^request not started: Rank 0 .*; rank 1 has a persistent send to it with tag 4 that is not started \(MPI_Start\)
#include <mpi.h>

int main(int argc, char** argv) {
  int rank, out = 1, in;
  MPI_Request requests[2];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Send_init(&out, 1, MPI_INT, 1 - rank, 4, MPI_COMM_WORLD, &requests[0]);
  MPI_Irecv(&in, 1, MPI_INT, 1 - rank, 4, MPI_COMM_WORLD, &requests[1]);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  MPI_Request_free(&requests[0]);
  MPI_Finalize();
  return 0;
}
