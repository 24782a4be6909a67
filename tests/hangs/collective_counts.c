// SPDX-License-Identifier: BSD-3-Clause
// ranks: 3
// code: 125
// says: ^mismatched collective sizes: Rank 2 waits in MPI_Alltoallv, call 1 on MPI_COMM_WORLD, for data of rank 1, which has passed that call
#include <mpi.h>

int main(int argc, char** argv) {
  int rank, in[3] = {0}, out[3], sent[3] = {1, 1, 1}, received[3] = {1, 1, 1};
  const int places[3] = {0, 1, 2};
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 1) sent[2] = 0;
  MPI_Alltoallv(in, sent, places, MPI_INT, out, received, places, MPI_INT, MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
