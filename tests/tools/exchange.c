/* SPDX-License-Identifier: BSD-3-Clause */
/* Two short messages and one long one: what the trace of it must contain is known. */
#include <mpi.h>
#include <stdlib.h>

int main(int argc, char** argv) {
  enum { LONG = 4 << 20 };
  char* buffer = calloc(LONG, 1);
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) {
    MPI_Send(buffer, 8, MPI_BYTE, 1, 101, MPI_COMM_WORLD);
    MPI_Send(buffer, LONG, MPI_BYTE, 1, 102, MPI_COMM_WORLD);
    MPI_Recv(buffer, 8, MPI_BYTE, 1, 103, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  } else if (rank == 1) {
    MPI_Recv(buffer, 8, MPI_BYTE, 0, 101, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Recv(buffer, LONG, MPI_BYTE, 0, 102, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(buffer, 8, MPI_BYTE, 0, 103, MPI_COMM_WORLD);
  }
  MPI_Finalize();
  free(buffer);
  return 0;
}
