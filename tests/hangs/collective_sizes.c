// SPDX-License-Identifier: BSD-3-Clause
// ranks: 2
// code: 14
// says: rank 1 .*MPI_Bcast: a message of this collective \(call 2 on MPI_COMM_WORLD\) has not the length that this rank's arguments ask for: the ranks disagree on count or datatype
// The root sends more than the other takes.
#include <mpi.h>

int main(int argc, char** argv) {
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  int data[16] = {rank};
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Bcast(data, rank == 0 ? 16 : 4, MPI_INT, 0, MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
