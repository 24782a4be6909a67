// SPDX-License-Identifier: BSD-3-Clause
// ranks: 3
// code: 125
// says: ^PSCW mismatch: Rank 0 waits in MPI_Win_complete for rank 1 to post window [0-9]+ to it \(MPI_Win_post\), which rank 1 has not done: its exposure group is rank 2; it waits in MPI_Win_wait
// Rank 1 posts to the wrong rank.
#include <mpi.h>

int main(int argc, char** argv) {
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  int *memory, value = rank;
  MPI_Win win;
  MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
  MPI_Group world, group;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  const int other = rank == 0 ? 1 : 2;
  MPI_Group_incl(world, 1, &other, &group);
  if (rank == 0) {
    MPI_Win_start(group, 0, win);
    MPI_Win_complete(win);
  } else if (rank == 1) {
    MPI_Win_post(group, 0, win);
    MPI_Win_wait(win);
  }
  MPI_Group_free(&group);
  MPI_Group_free(&world);
  MPI_Win_free(&win);
  (void)value;
  MPI_Finalize();
  return 0;
}
