// SPDX-License-Identifier: BSD-3-Clause
// ranks: 2
// code: 125
// says: ^lost wait: Rank 0 waits in MPI_Wait for MPI_Pready of 1 partition with tag 5 on MPI_COMM_WORLD, which only the program
// says: 0 +waits +MPI_Wait +MPI_Pready of 1 partition with tag 5 on MPI_COMM_WORLD
// says: 1 +waits +MPI_Wait +1 partition from rank 0 with tag 5 on MPI_COMM_WORLD
#include <mpi.h>

int main(int argc, char** argv) {
  int rank, data[2] = {0, 0};
  MPI_Request request;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) {
    MPI_Psend_init(data, 2, 1, MPI_INT, 1, 5, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    MPI_Start(&request);
    MPI_Pready(1, request);
  } else {
    MPI_Precv_init(data, 2, 1, MPI_INT, 0, 5, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    MPI_Start(&request);
  }
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Request_free(&request);
  MPI_Finalize();
  return 0;
}
