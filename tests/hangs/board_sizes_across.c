// SPDX-License-Identifier: BSD-3-Clause
// ranks: 2
// over: shm
// code: 125
// says: ^mismatched collective sizes: The ranks do not agree on the size of MPI_Allreduce, call 7 on MPI_COMM_WORLD: rank 0 passed 8 bytes, rank 1 passed 64 bytes
// One rank comes to the board, which takes 48 bytes; the other sends messages.
#include <mpi.h>

int main(int argc, char** argv) {
  int rank;
  char in[64] = {0}, out[64];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int i = 0; i < 6; ++i) MPI_Allreduce(in, out, 8, MPI_BYTE, MPI_BOR, MPI_COMM_WORLD);
  MPI_Allreduce(in, out, rank == 0 ? 8 : 64, MPI_BYTE, MPI_BOR, MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
