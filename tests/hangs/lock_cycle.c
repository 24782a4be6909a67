// SPDX-License-Identifier: BSD-3-Clause
// ranks: 2
// code: 125
// says: ^lock cycle: Ranks 0, 1 wait for each other: .*rank 0 waits in MPI_Win_(lock|flush) for rank 1 to unlock the lock of window [0-9]+ on rank 1
// says: held by rank 0, wanted by rank 1
// Each locks itself, then the other.
#include <mpi.h>

int main(int argc, char** argv) {
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  int *memory, value = rank;
  MPI_Win win;
  MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
  for (int i = 0; i < 2; ++i) {
    const int target = (rank + i) % 2;
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win);
    MPI_Put(&value, 1, MPI_INT, target, 0, 1, MPI_INT, win);
    MPI_Win_flush(target, win);
    if (i == 0) MPI_Barrier(MPI_COMM_WORLD);
  }
  for (int target = 0; target < 2; ++target) MPI_Win_unlock(target, win);
  MPI_Win_free(&win);
  MPI_Finalize();
  return 0;
}
