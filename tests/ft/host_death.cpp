// SPDX-License-Identifier: BSD-3-Clause
// host_death VICTIM LEFT [stop]: rank VICTIM kills the agent that has started it, and so all ranks of its host, and of
// hosts behind that; or stops it, and itself, so that the host says nothing any more. The others hear that those are
// dead, and so many are LEFT.
#include <mpi.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>

#include "mpi/check.hpp"

using check::class_of;

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int victim = std::atoi(argv[1]), left = std::atoi(argv[2]);
  int rank, all, size, n = -1, sum = 0, one = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &all);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == victim) {
    kill(getppid(), argc > 3 ? SIGSTOP : SIGKILL);
    for (;;) raise(SIGSTOP);
  }
  int x;
  CHECK(class_of(MPI_Recv(&x, 1, MPI_INT, victim, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE)) == MPIX_ERR_PROC_FAILED);
  MPI_Comm small = MPI_COMM_WORLD;
  // The deaths of one host are told one after the other.
  do {
    MPI_Comm smaller;
    CHECK(MPIX_Comm_shrink(small, &smaller) == MPI_SUCCESS);
    if (small != MPI_COMM_WORLD) MPI_Comm_free(&small);
    small = smaller;
    MPI_Comm_size(small, &size);
  } while (size > left);
  CHECK(size == left);
  CHECK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, small) == MPI_SUCCESS && sum == left);
  MPI_Group failed;
  CHECK(MPIX_Comm_get_failed(MPI_COMM_WORLD, &failed) == MPI_SUCCESS);
  MPI_Group_size(failed, &n);
  CHECK(n == all - left);
  MPI_Group_free(&failed);
  MPI_Comm_free(&small);
  return check::finish();
}
