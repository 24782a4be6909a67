// SPDX-License-Identifier: BSD-3-Clause
// All ranks send rank 0 a hundred messages of so many bytes, which it receives when it has slept a while.
#include <mpi.h>
#include <stdlib.h>
#include <unistd.h>

enum { kMessages = 100, kFirst = 100, kMost = 16384 };

int main(int argc, char** argv) {
  static char data[kMost], sent[kMost];
  MPI_Request requests[kMessages];
  int rank, size;
  MPI_Init(&argc, &argv);
  const int bytes = argc > 1 ? atoi(argv[1]) : 8;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  // Too long for an inbox, so all rings are there before any grows.
  MPI_Isend(sent, kFirst, MPI_CHAR, 0, 0, MPI_COMM_WORLD, &requests[0]);
  for (int from = 0; rank == 0 && from < size; ++from)
    MPI_Recv(data, kFirst, MPI_CHAR, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Barrier(MPI_COMM_WORLD);  // all have all when any leaves it
  for (int i = 0; i < bytes; ++i) sent[i] = (char)(rank + i);
  if (rank > 0) {
    for (int i = 0; i < kMessages; ++i) MPI_Isend(sent, bytes, MPI_CHAR, 0, i, MPI_COMM_WORLD, &requests[i]);
    MPI_Waitall(kMessages, requests, MPI_STATUSES_IGNORE);
  } else {
    usleep(100000);
    for (int from = size - 1; from > 0; --from) {
      for (int i = 0; i < kMessages; ++i) {
        MPI_Recv(data, bytes, MPI_CHAR, from, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (int at = 0; at < bytes; ++at)
          if (data[at] != (char)(from + at)) MPI_Abort(MPI_COMM_WORLD, 9);
      }
    }
  }
  MPI_Finalize();
  return 0;
}
