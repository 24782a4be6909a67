// SPDX-License-Identifier: BSD-3-Clause
// ranks: 5
// A communicator that a rank has freed before the others revoke it and free it: what they have said of that does not
// get in the way of communicators that use its contexts again.
#include <mpi.h>
#include <unistd.h>

#include "mpi/check.hpp"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  for (int round = 0; round < 15; ++round) {
    const bool is_first = check::rank() == round % check::size();
    MPI_Comm c;
    CHECK(MPI_Comm_dup(MPI_COMM_WORLD, &c) == MPI_SUCCESS);
    if (is_first) MPI_Comm_free(&c);
    MPI_Barrier(MPI_COMM_WORLD);
    if (!is_first) {
      CHECK(MPIX_Comm_revoke(c) == MPI_SUCCESS);
      MPI_Comm_free(&c);
    }
    // Barriers let all of them hear that it is over everywhere.
    for (int i = 0; i < 20; ++i) {
      MPI_Barrier(MPI_COMM_WORLD);
      usleep(500);
    }
    MPI_Comm again, copy;
    CHECK(MPI_Comm_dup(MPI_COMM_WORLD, &again) == MPI_SUCCESS);
    MPI_Comm_set_errhandler(again, MPI_ERRORS_RETURN);
    CHECK(MPI_Comm_dup(again, &copy) == MPI_SUCCESS);
    MPI_Comm_free(&copy);
    MPI_Comm_free(&again);
  }
  return check::finish();
}
