// SPDX-License-Identifier: BSD-3-Clause
// ranks: 4
// over: tcp
// with: -x RMQ_COLL=barrier=batch,reduce=flat
// code: 101
// says: rank 0 .*MPI_(Barrier|Reduce): world rank [123] is lost: rank [123].* cannot be reached: no file descriptor left here
// The root of a collective that takes from whoever comes first finds no descriptor for any call; the others cannot call
// it.
#include <mpi.h>
#include <stdlib.h>
#include <sys/resource.h>

int main(int argc, char** argv) {
  int rank, x = 0, sum;
  const struct rlimit none = {0, 0};
  setenv("RMQ_TCP_CONNECT_TIMEOUT", "300ms", 1);
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) setrlimit(RLIMIT_NOFILE, &none);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Reduce(&x, &sum, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
