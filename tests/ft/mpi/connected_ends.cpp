// SPDX-License-Identifier: BSD-3-Clause
// ranks: 2
// MPI_Finalize of jobs that are connected passes over those who have died, whatever error handler the world has.
#include <mpi.h>
#include <signal.h>

#include "mpi/check.hpp"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm inter, left;
  MPI_Comm_get_parent(&inter);
  char child[] = "child";
  char* arguments[] = {child, nullptr};
  if (argc == 1) MPI_Comm_spawn(argv[0], arguments, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter, MPI_ERRCODES_IGNORE);
  MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN);
  MPI_Barrier(inter);
  if (argc == 2 && check::rank() == 1) raise(SIGKILL);
  MPI_Barrier(inter);  // with whatever comes of it
  CHECK(MPIX_Comm_shrink(inter, &left) == MPI_SUCCESS);
  MPI_Comm_free(&left);
  MPI_Comm_free(&inter);
  return check::finish();
}
