/* SPDX-License-Identifier: BSD-3-Clause */
/* Two ranks that stand still with known queues at rank 0, until the file that is named on the command line is there. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { LONG = 4 << 20 };

int main(int argc, char** argv) {
  char *buffer = calloc(LONG, 1), small[100];
  int rank, flag = 0;
  MPI_Comm comm;
  MPI_Request r[3];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_name(comm, "library");
  if (rank == 0) {
    MPI_Irecv(small, 100, MPI_BYTE, 1, 7, MPI_COMM_WORLD, &r[0]);
    MPI_Irecv(small, 50, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &r[1]);
    MPI_Isend(buffer, LONG, MPI_BYTE, 1, 11, MPI_COMM_WORLD, &r[2]);
    while (!flag) MPI_Iprobe(1, 9, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    printf("ready %d\n", (int)getpid());
    fflush(stdout);
    while (argc > 1 && access(argv[1], F_OK) != 0) usleep(10000);
    MPI_Recv(small, 24, MPI_BYTE, 1, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(small, 0, MPI_BYTE, 1, 10, MPI_COMM_WORLD);
    MPI_Waitall(3, r, MPI_STATUSES_IGNORE);
  } else {
    MPI_Send(small, 24, MPI_BYTE, 0, 9, MPI_COMM_WORLD);
    MPI_Recv(small, 0, MPI_BYTE, 0, 10, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(small, 100, MPI_BYTE, 0, 7, MPI_COMM_WORLD);
    MPI_Send(small, 50, MPI_BYTE, 0, 8, comm);
    MPI_Recv(buffer, LONG, MPI_BYTE, 0, 11, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  MPI_Comm_free(&comm);
  MPI_Finalize();
  free(buffer);
  return 0;
}
