// SPDX-License-Identifier: BSD-3-Clause
// What the calls of short messages cost over tcp, in instructions, a system call counting as one: each bound is a
// twentieth above what GCC 12 made of it. Two ranks; the arguments of the calls, and what has happened before, are
// those of a program in its stride. Where more than a few bytes are copied, the bound has room for the memcpy of any
// processor.
#include <mpi.h>

#include "cost/mark.h"

static char data[1024];

// In every other round, so that the other side need not wait for what is counted.
static void sender(int counts) {
  MPI_Request request;
  MPI_Status status;
  MPI_Recv(data, 1, MPI_CHAR, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  BEGIN_IF(counts, "MPI_Send, 8 B: 570");
  MPI_Send(data, 8, MPI_CHAR, 1, 1, MPI_COMM_WORLD);
  END_IF(counts);
  tell_sent();
  MPI_Recv(data, 1, MPI_CHAR, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  BEGIN_IF(counts, "MPI_Send, 1 KB: 810");
  MPI_Send(data, 1024, MPI_CHAR, 1, 1, MPI_COMM_WORLD);
  END_IF(counts);
  tell_sent();
  MPI_Recv(data, 1, MPI_CHAR, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  BEGIN_IF(counts, "MPI_Isend, 8 B: 910");
  MPI_Isend(data, 8, MPI_CHAR, 1, 1, MPI_COMM_WORLD, &request);
  END_IF(counts);
  MPI_Wait(&request, &status);
  tell_sent();
}

static void receiver(int counts) {
  MPI_Request request;
  MPI_Status status;
  MPI_Irecv(data, 8, MPI_CHAR, 0, 1, MPI_COMM_WORLD, &request);
  MPI_Send(data, 1, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
  wait_until_arrived();
  BEGIN_IF(counts, "MPI_Wait of a receive, 8 B: 1053");
  MPI_Wait(&request, &status);
  END_IF(counts);
  MPI_Send(data, 1, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
  wait_until_arrived();
  BEGIN_IF(counts, "MPI_Recv, 1 KB: 1240");
  MPI_Recv(data, 1024, MPI_CHAR, 0, 1, MPI_COMM_WORLD, &status);
  END_IF(counts);
  MPI_Send(data, 1, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
  wait_until_arrived();
  BEGIN_IF(counts, "MPI_Recv, 8 B: 1165");
  MPI_Recv(data, 8, MPI_CHAR, 0, 1, MPI_COMM_WORLD, &status);
  END_IF(counts);
}

int main(int argc, char** argv) {
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  share_sent(rank);
  for (int round = 0; round < 48; ++round) {
    if (rank == 0)
      sender(round % 2 == 0);
    else
      receiver(round % 2 == 1);
  }
  MPI_Finalize();
  return 0;
}
