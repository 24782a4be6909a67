// SPDX-License-Identifier: BSD-3-Clause
// ranks: 2
// code: 125
// says: ^missing collective: rank 0 has not come to MPI_Win_free, call 1 on window [0-9]+, where rank 1 waits: it calls MPI_Iprobe again and again
// A rank that sleeps between its probes waits as well, also while the agent of its windows looks after it.
#include <mpi.h>
#include <time.h>

int main(int argc, char** argv) {
  int rank, found = 0, memory = 0;
  MPI_Win window;
  const struct timespec pause = {0, 20000000};
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Win_create(&memory, sizeof memory, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  while (rank == 0 && !found) {
    MPI_Iprobe(1, 9, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
    nanosleep(&pause, NULL);
  }
  MPI_Win_free(&window);
  MPI_Finalize();
  return 0;
}
