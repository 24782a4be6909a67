// SPDX-License-Identifier: BSD-3-Clause
// contexts ROUNDS: contexts of communicators that have been agreed on, revoked or lost a member are used anew once all
// who live have freed them: there are 16,384, and each round takes four. What was never received in one comes to no
// other.
#include <mpi.h>
#include <signal.h>

#include <cstdlib>

#include "mpi/check.hpp"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Barrier(MPI_COMM_WORLD);
  if (check::rank() == 1) raise(SIGKILL);
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 1;
  int x, wrong = 0;
  CHECK(check::class_of(MPI_Recv(&x, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE)) == MPIX_ERR_PROC_FAILED);
  MPI_Comm living;
  CHECK(MPIX_Comm_shrink(MPI_COMM_WORLD, &living) == MPI_SUCCESS && check::size(living) == 2);
  const int me = check::rank(living);
  for (int i = 0; i < rounds; ++i) {
    MPI_Comm one = MPI_COMM_NULL, other = MPI_COMM_NULL;
    wrong += MPI_Comm_dup(living, &one) != MPI_SUCCESS;
    wrong += MPIX_Comm_shrink(MPI_COMM_WORLD, &other) != MPI_SUCCESS;
    if (i % 2 == me) {
      wrong += MPI_Send(&i, 1, MPI_INT, 1 - me, i, one) != MPI_SUCCESS;  // which is never received …
      MPIX_Comm_revoke(one);
    }
    MPI_Comm_free(&one);
    // … and must not come here.
    wrong +=
        MPI_Sendrecv(&i, 1, MPI_INT, 1 - me, 7, &x, 1, MPI_INT, 1 - me, 7, other, MPI_STATUS_IGNORE) != MPI_SUCCESS;
    wrong += x != i;
    MPI_Comm_free(&other);
    wrong += MPI_Comm_split(living, 0, 0, &one) != MPI_SUCCESS;
    MPI_Comm_free(&one);
    if (wrong != 0) break;
  }
  CHECK(wrong == 0);
  MPI_Comm_free(&living);
  return check::finish();
}
