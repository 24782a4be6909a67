// SPDX-License-Identifier: BSD-3-Clause
// ranks: 3
// over: tcp
// code: 5
// says: rank 2 .*aborted the job with code 5
// A member is lost while a communicator is made from a group: the call says so where its errors are to be returned.
#include <mpi.h>
#include <stdlib.h>
#include <sys/resource.h>

int main(int argc, char** argv) {
  int rank;
  const struct rlimit none = {0, 0};
  MPI_Group world;
  MPI_Comm made;
  setenv("RMQ_TCP_CONNECT_TIMEOUT", "300ms", 1);
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  if (rank == 2) setrlimit(RLIMIT_NOFILE, &none);
  const int error = MPI_Comm_create_from_group(world, "here", MPI_INFO_NULL, MPI_ERRORS_RETURN, &made);
  if (rank == 2) MPI_Abort(MPI_COMM_WORLD, error != MPI_SUCCESS ? 5 : 6);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
