// SPDX-License-Identifier: BSD-3-Clause
// Rank 0 stays outside of MPI (argument "busy": in a call back from MPI) until its standard input ends; rank 1 waits
// for it. With "threads" under MPI_THREAD_MULTIPLE.
#include <mpi.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

// Sleeps in poll(): ThreadSanitizer keeps a signal back while read() waits.
static void wait_for_input(void) {
  struct pollfd input = {0, POLLIN, 0};
  char c;
  puts("ready");
  fflush(stdout);
  while (poll(&input, 1, -1) < 0 || read(0, &c, 1) > 0) {
  }
}

static void slow(void* in, void* inout, int* count, MPI_Datatype* type) {
  (void)in, (void)inout, (void)count, (void)type;
  wait_for_input();
}

int main(int argc, char** argv) {
  const char* how = argc > 1 ? argv[1] : "";
  int rank, provided, value = 1, result;
  MPI_Init_thread(&argc, &argv, strcmp(how, "threads") == 0 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) {
    if (strcmp(how, "callback") == 0) {
      MPI_Op op;
      MPI_Op_create(slow, 1, &op);
      MPI_Reduce_local(&value, &result, 1, MPI_INT, op);
      MPI_Op_free(&op);
    } else {
      wait_for_input();
    }
    MPI_Send(&value, 1, MPI_INT, 1, 9, MPI_COMM_WORLD);
  } else {
    MPI_Recv(&value, 1, MPI_INT, 0, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  MPI_Finalize();
  return 0;
}
