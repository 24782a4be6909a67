// SPDX-License-Identifier: BSD-3-Clause
// ranks: 4
// over: tcp
// code: 101
// says: rank 1 .*MPI_Recv: world rank 2 is lost: rank 2 .*cannot be reached: no file descriptor left here
// What is lost is part of a collective of an inter-communicator, inside of a group, and the rank waits for something
// else.
#include <mpi.h>
#include <stdlib.h>
#include <sys/resource.h>

int main(int argc, char** argv) {
  int rank, x = 0;
  const struct rlimit none = {0, 0};
  MPI_Comm half, inter;
  MPI_Request request;
  setenv("RMQ_TCP_CONNECT_TIMEOUT", "300ms", 1);
  setenv("RMQ_COLL", "barrier=batch", 1); /* in which rank 1 talks with rank 2 */
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_split(MPI_COMM_WORLD, rank == 3, 0, &half);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, rank == 3 ? 0 : 3, 1, &inter);
  if (rank == 1) setrlimit(RLIMIT_NOFILE, &none);
  MPI_Ibarrier(inter, &request);
  if (rank != 1) MPI_Wait(&request, MPI_STATUS_IGNORE);
  if (rank == 0) MPI_Send(&x, 1, MPI_INT, 1, 1, MPI_COMM_WORLD);
  if (rank == 1) {
    MPI_Recv(&x, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  MPI_Finalize();
  return 0;
}
