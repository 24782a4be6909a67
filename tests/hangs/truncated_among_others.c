// SPDX-License-Identifier: BSD-3-Clause
// ranks: 2
// code: 14
// says: rank 1 .*MPI_Waitall: request 1 failed: the message from rank 0 with tag 4 is longer than the receive buffer of 8 bytes
// The job ends with the code of what has failed, not with MPI_ERR_IN_STATUS, which says nothing to whoever runs it.
#include <mpi.h>

int main(int argc, char** argv) {
  int rank;
  MPI_Request requests[2];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  int data[4] = {rank}, other = 0;
  if (rank == 0) {
    MPI_Send(data, 1, MPI_INT, 1, 3, MPI_COMM_WORLD);
    MPI_Send(data, 4, MPI_INT, 1, 4, MPI_COMM_WORLD);
  } else {
    MPI_Irecv(&other, 1, MPI_INT, 0, 3, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(data, 2, MPI_INT, 0, 4, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  }
  MPI_Finalize();
  return 0;
}
