// SPDX-License-Identifier: BSD-3-Clause
// ranks: 3
// code: 125
// says: ^cycle: Ranks 0, 1 wait for each other: rank 0 waits in MPI_(Wait|Win_lock) for rank 1 to unlock the lock of window [0-9]+ on rank 1, rank 1 waits in MPI_Recv for rank 0 to send
// Rank 1 holds its own lock and waits for a message, which rank 0 would send after it has read under that lock. Rank 2
// is innocent.
#include <mpi.h>

int main(int argc, char** argv) {
  int rank, *memory, value = 0;
  MPI_Win win;
  MPI_Request request;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
  if (rank == 1) MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) {
    MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win);
    MPI_Rget(&value, 1, MPI_INT, 1, 0, 1, MPI_INT, win, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Win_unlock(1, win);
    MPI_Send(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
  } else if (rank == 1) {
    MPI_Recv(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Win_unlock(1, win);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_free(&win);
  MPI_Finalize();
  return 0;
}
