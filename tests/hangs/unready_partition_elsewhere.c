// SPDX-License-Identifier: BSD-3-Clause
// ranks: 2
// code: 125
// says: ^partition not ready: Rank 1 calls MPI_Parrived again and again, .*; rank 0 has not declared 1 partition of its send to it with tag 3 ready
// The sender does not wait for its partitions itself.
#include <mpi.h>

int main(int argc, char** argv) {
  int rank, arrived = 0;
  double data[4] = {0};
  MPI_Request request;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) {
    MPI_Psend_init(data, 4, 1, MPI_DOUBLE, 1, 3, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    MPI_Start(&request);
    for (int i = 0; i < 3; ++i) MPI_Pready(i, request);
  } else {
    MPI_Precv_init(data, 4, 1, MPI_DOUBLE, 0, 3, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    MPI_Start(&request);
    while (!arrived) MPI_Parrived(request, 3, &arrived);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
