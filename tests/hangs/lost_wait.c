// SPDX-License-Identifier: BSD-3-Clause
// ranks: 2
// code: 125
// says: ^lost wait: Rank 1 waits in MPI_Wait for a message from rank 0 with tag 3 on MPI_COMM_WORLD, which can never complete: rank 0 is in MPI_Finalize and will send nothing more
#include <mpi.h>

int main(int argc, char** argv) {
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  int value;
  if (rank == 1) {
    MPI_Request request;
    MPI_Irecv(&value, 1, MPI_INT, 0, 3, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  MPI_Finalize();
  return 0;
}
