// SPDX-License-Identifier: BSD-3-Clause
// ranks: 2
// code: 0
// says: ^both have their messages$
// A thread of rank 0 waits for a message that rank 1 sends when it has one itself; the other thread computes for some
// seconds before it sends that. Nothing hangs.
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>

static void* wait_for_message(void* none) {
  MPI_Recv(NULL, 0, MPI_INT, 1, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  return none;
}

int main(int argc, char** argv) {
  int level, rank;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) {
    pthread_t thread;
    pthread_create(&thread, NULL, wait_for_message, NULL);
    const double begun = MPI_Wtime();
    volatile long count = 0;
    while (MPI_Wtime() - begun < 3) count = count + 1;
    MPI_Send(NULL, 0, MPI_INT, 1, 4, MPI_COMM_WORLD);
    pthread_join(thread, NULL);
    printf("both have their messages\n");
  } else {
    MPI_Recv(NULL, 0, MPI_INT, 0, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(NULL, 0, MPI_INT, 0, 5, MPI_COMM_WORLD);
  }
  MPI_Finalize();
  return 0;
}
