// SPDX-License-Identifier: BSD-3-Clause
// ranks: 5
// code: 14
// says: rank [0-4] .*MPI_Allreduce: a message of this collective \(call 9 on MPI_COMM_WORLD\) has not the length that this rank's arguments ask for: the ranks disagree on count or datatype
#include <mpi.h>

int main(int argc, char** argv) {
  int rank, in[4] = {0}, out[4];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int i = 0; i < 8; ++i) MPI_Barrier(MPI_COMM_WORLD);
  MPI_Allreduce(in, out, rank == 0 ? 4 : 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
