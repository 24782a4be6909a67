// SPDX-License-Identifier: BSD-3-Clause
// ranks: 2
// fails with: rank 0.*MPI_Put: invalid rank 17 .argument target_rank; allowed 0..1
// The handler of a new window is fatal, whatever that of its communicator is: the job ends with a line that says why.
#include "win_test.hpp"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  LongWindow w(MPI_WIN_FLAVOR_CREATE, 1);
  long x = 0;
  MPI_Win_fence(0, w.win);
  if (check::rank() == 0) MPI_Put(&x, 1, MPI_LONG, 17, 0, 1, MPI_LONG, w.win);
  MPI_Win_fence(0, w.win);
  return check::finish();
}
