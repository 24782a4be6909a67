// SPDX-License-Identifier: BSD-3-Clause
// ranks: 3
// over: tcp
// code: 101
// says: rank [012].*MPI_Probe: world rank [012] is lost: rank [012].* cannot be reached: no file descriptor left here
// Each rank finds no descriptor for its call to the next one, and waits for the message of the one before: what it sent
// has failed, and no call would ever tell, least of all of a request that has been freed.
#include <mpi.h>
#include <stdlib.h>
#include <sys/resource.h>

int main(int argc, char** argv) {
  int rank, x = 0;
  const struct rlimit none = {0, 0};
  MPI_Request request;
  setenv("RMQ_TCP_CONNECT_TIMEOUT", "300ms", 1);
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  setrlimit(RLIMIT_NOFILE, &none);
  MPI_Isend(&x, 1, MPI_INT, (rank + 1) % 3, 1, MPI_COMM_WORLD, &request);
  MPI_Request_free(&request);
  MPI_Probe((rank + 2) % 3, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Recv(&x, 1, MPI_INT, (rank + 2) % 3, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Finalize();
  return 0;
}
