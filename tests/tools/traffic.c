/* SPDX-License-Identifier: BSD-3-Clause */
/* What the recorders are tested on:
 *   traffic many N          N messages each way between ranks 0 and 1
 *   traffic kill|abort [code]|exit the same, until rank 1 comes to a bad end while rank 0 waits for it
 *   traffic rma             each kind of epoch, and a datatype that has to be described */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int rank;

static void exchange(int n) {
  char data[8] = "rmq";
  for (int i = 0; i < n; ++i) {
    if (rank == 0) {
      MPI_Send(data, 8, MPI_BYTE, 1, 7, MPI_COMM_WORLD);
      MPI_Recv(data, 8, MPI_BYTE, 1, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (rank == 1) {
      MPI_Recv(data, 8, MPI_BYTE, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Send(data, 8, MPI_BYTE, 0, 8, MPI_COMM_WORLD);
    }
  }
}

static void die(const char* how, int code) {
  char data[8];
  exchange(100);
  if (rank == 0) MPI_Recv(data, 8, MPI_BYTE, 1, 99, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  usleep(100000); /* rank 0 comes to wait */
  if (strcmp(how, "kill") == 0) raise(SIGKILL);
  if (strcmp(how, "abort") == 0) MPI_Abort(MPI_COMM_WORLD, code);
  exit(4);
}

static void epochs(void) {
  enum { N = 64 };
  int mine[N] = {0}, theirs[N] = {0}, other = 1 - rank;
  MPI_Win win;
  MPI_Group world, peer;
  MPI_Datatype column;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_incl(world, 1, &other, &peer);
  MPI_Type_vector(8, 1, 8, MPI_INT, &column);
  MPI_Type_commit(&column);
  MPI_Win_create(mine, sizeof mine, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  MPI_Win_fence(0, win);
  MPI_Put(theirs, 8, MPI_INT, other, 0, 1, column, win);
  MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
  MPI_Win_post(peer, 0, win);
  MPI_Win_start(peer, 0, win);
  MPI_Put(theirs, 8, MPI_INT, other, 0, 1, column, win);
  MPI_Win_complete(win);
  MPI_Win_wait(win);
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, other, 0, win);
  MPI_Put(theirs, 8, MPI_INT, other, 0, 1, column, win);
  MPI_Win_flush(other, win);
  MPI_Win_unlock(other, win);
  MPI_Win_lock_all(0, win);
  MPI_Win_unlock_all(win);
  MPI_Win_free(&win);
  MPI_Type_free(&column);
  MPI_Group_free(&peer);
  MPI_Group_free(&world);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (argc > 2 && strcmp(argv[1], "many") == 0) {
    exchange(atoi(argv[2]));
  } else if (argc > 1 && strcmp(argv[1], "rma") == 0) {
    epochs();
  } else if (argc > 1) {
    die(argv[1], argc > 2 ? atoi(argv[2]) : 3);
  }
  MPI_Finalize();
  return 0;
}
