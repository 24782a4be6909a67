// SPDX-License-Identifier: BSD-3-Clause
// ranks: 2
// code: 125
// says: ^no credit: Rank 1 waits in MPI_Recv for a message from rank 0 with tag 2 on MPI_COMM_WORLD; rank 0 has [0-9]+ messages for it that may not leave, .* raise RMQ_ENVELOPES_MAX\.
// says: ^ +0 +waits .*pending to rank 1: no credit
#include <mpi.h>
#include <stdlib.h>

enum { COUNT = 2000 };

int main(int argc, char** argv) {
  static char data[1000];
  MPI_Request requests[COUNT + 1];
  int rank;
  setenv("RMQ_UNEXPECTED_MAX", "64K", 1);
  setenv("RMQ_ENVELOPES_MAX", "0", 1);
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) {
    for (int i = 0; i < COUNT; ++i) MPI_Isend(data, sizeof data, MPI_BYTE, 1, 1, MPI_COMM_WORLD, &requests[i]);
    MPI_Isend(data, sizeof data, MPI_BYTE, 1, 2, MPI_COMM_WORLD, &requests[COUNT]);
    MPI_Waitall(COUNT + 1, requests, MPI_STATUSES_IGNORE);
  }
  if (rank == 1) MPI_Recv(data, sizeof data, MPI_BYTE, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Finalize();
  return 0;
}
