// SPDX-License-Identifier: BSD-3-Clause
// ranks: 4
// code: 125
// says: ^mismatched groups: Rank 2 waits in MPI_Comm_create_group for rank [01] .*, while ranks .* wait for it in MPI_Barrier, call 1 on MPI_COMM_WORLD
// One rank passes another group than the others, which do without it.
#include <mpi.h>

int main(int argc, char** argv) {
  int rank;
  const int members[] = {0, 1, 2};
  MPI_Group all, some;
  MPI_Comm made;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_group(MPI_COMM_WORLD, &all);
  MPI_Group_incl(all, rank == 2 ? 3 : 2, members, &some);
  if (rank < 3) MPI_Comm_create_group(MPI_COMM_WORLD, some, 1, &made);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
