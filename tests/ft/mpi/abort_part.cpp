// SPDX-License-Identifier: BSD-3-Clause
// ranks: 6
// MPI_Abort on a communicator of some ranks is their death, whatever they are doing, and nobody else's.
#include <mpi.h>

#include "mpi/check.hpp"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  const int rank = check::rank();
  MPI_Comm half;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
  MPI_Barrier(half);
  if (rank == 1) MPI_Abort(half, 8);
  if (rank == 3) {  // it computes
    for (volatile bool go_on = true; go_on;) continue;
  }
  if (rank == 5) {  // it waits for what never comes
    for (;;) MPI_Recv(nullptr, 0, MPI_INT, 0, 99, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }

  // The others go on, and come to know of all three.
  int sum = 0;
  CHECK(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, half) == MPI_SUCCESS && sum == 6);
  for (int living = 6; living > 3;) {
    MPI_Comm left;
    CHECK(MPIX_Comm_shrink(MPI_COMM_WORLD, &left) == MPI_SUCCESS);
    MPI_Comm_size(left, &living);
    MPI_Comm_free(&left);
    CHECK(living >= 3);
  }
  CHECK(MPI_Barrier(half) == MPI_SUCCESS);
  MPI_Comm_free(&half);
  return check::finish();
}
