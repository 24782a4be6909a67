// SPDX-License-Identifier: BSD-3-Clause
// What the calls of short messages cost over shared memory, in instructions: each bound is a fifth above what GCC 12
// made of it. Two ranks; the arguments of the calls, and what has happened before, are those of a program in its
// stride. Where more than a few bytes are copied, the bound has room for the memcpy of any processor.
#include <mpi.h>

#include "cost/mark.h"

static int rank;
static char data[256];

static void sender(void) {
  MPI_Request request;
  MPI_Status status;
  MPI_Recv(data, 1, MPI_CHAR, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  BEGIN("MPI_Send, 8 B: 300");
  MPI_Send(data, 8, MPI_CHAR, 1, 1, MPI_COMM_WORLD);
  END();
  tell_sent();
  MPI_Recv(data, 1, MPI_CHAR, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  BEGIN("MPI_Send, 256 B: 380");
  MPI_Send(data, 256, MPI_CHAR, 1, 1, MPI_COMM_WORLD);
  END();
  tell_sent();
  MPI_Recv(data, 1, MPI_CHAR, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  BEGIN("MPI_Isend, 8 B: 365");
  MPI_Isend(data, 8, MPI_CHAR, 1, 1, MPI_COMM_WORLD, &request);
  END();
  BEGIN("MPI_Wait of a send: 160");
  MPI_Wait(&request, &status);
  END();
  tell_sent();
}

static void receiver(void) {
  MPI_Request request;
  MPI_Status status;
  int flag = 0;
  BEGIN("MPI_Irecv, 8 B: 255");
  MPI_Irecv(data, 8, MPI_CHAR, 0, 1, MPI_COMM_WORLD, &request);
  END();
  MPI_Send(data, 1, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
  wait_until_arrived();
  BEGIN("MPI_Wait of a receive: 850");
  MPI_Wait(&request, &status);
  END();
  MPI_Send(data, 1, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
  wait_until_arrived();
  BEGIN("MPI_Recv, 256 B: 1030");
  MPI_Recv(data, 256, MPI_CHAR, 0, 1, MPI_COMM_WORLD, &status);
  END();
  MPI_Send(data, 1, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
  wait_until_arrived();
  MPI_Iprobe(0, 1, MPI_COMM_WORLD, &flag, &status);
  BEGIN("MPI_Recv, 8 B, unexpected: 990");
  MPI_Recv(data, 8, MPI_CHAR, 0, 1, MPI_COMM_WORLD, &status);
  END();
}

static void window(MPI_Win win) {
  long mine = 1, before;
  BEGIN("MPI_Put, 8 B: 135");
  MPI_Put(&mine, 1, MPI_LONG, 1 - rank, 0, 1, MPI_LONG, win);
  END();
  BEGIN("MPI_Win_flush: 57");
  MPI_Win_flush(1 - rank, win);
  END();
  BEGIN("MPI_Fetch_and_op, 8 B: 170");
  MPI_Fetch_and_op(&mine, &before, MPI_LONG, 1 - rank, 0, MPI_SUM, win);
  END();
  MPI_Win_flush(1 - rank, win);
}

int main(int argc, char** argv) {
  long* memory;
  MPI_Win win;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  share_sent(rank);
  for (int round = 0; round < 6; ++round) {
    if (rank == 0)
      sender();
    else
      receiver();
  }
  // A window may bring a thread, and from then on calls cost a lock.
  MPI_Win_allocate(sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
  MPI_Win_lock_all(0, win);
  for (int round = 0; round < 6; ++round) window(win);
  MPI_Win_unlock_all(win);
  MPI_Win_free(&win);
  MPI_Finalize();
  return 0;
}
