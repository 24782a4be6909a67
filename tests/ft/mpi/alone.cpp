// SPDX-License-Identifier: BSD-3-Clause
// ranks: 3
// Whoever is alone in a communicator, or is left alone in it, shrinks it at once, whatever other agreements it takes
// part in: one whose members are long in coming may hold what this one would have to wait for.
#include <mpi.h>
#include <signal.h>
#include <unistd.h>

#include "ft/wake.hpp"
#include "mpi/check.hpp"

namespace {

/// Ranks 0 and 1 shrink `both`, to which rank 1 comes only when rank 0 has shrunk `c`.
void check_beside_another(MPI_Comm both, MPI_Comm c, int rank, int partner) {
  MPI_Comm shrunk, alone;
  MPI_Request request;
  CHECK(MPIX_Comm_ishrink(both, &shrunk, &request) == MPI_SUCCESS);
  int over = 0;
  if (rank == 1) {
    usleep(100'000);
    MPI_Test(&request, &over, MPI_STATUS_IGNORE);  // hears of the first round, and of no other
    wake::await();
  } else {
    for (int i = 0; i < 300 && !over; ++i) {
      MPI_Test(&request, &over, MPI_STATUS_IGNORE);
      usleep(1000);
    }
    CHECK(MPIX_Comm_shrink(c, &alone) == MPI_SUCCESS);
    int size = 0, got = 0;
    MPI_Comm_size(alone, &size);
    CHECK(size == 1);
    MPI_Sendrecv(&size, 1, MPI_INT, 0, 3, &got, 1, MPI_INT, 0, 3, alone, MPI_STATUS_IGNORE);
    CHECK(got == 1);
    MPI_Comm_free(&alone);
    kill(partner, SIGUSR1);
  }
  if (!over) CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
  CHECK(MPI_Barrier(shrunk) == MPI_SUCCESS);
  MPI_Comm_free(&shrunk);
}

}  // namespace

int main(int argc, char** argv) {
  wake::hold();
  MPI_Init(&argc, &argv);
  int rank, partner = getpid();
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Bcast(&partner, 1, MPI_INT, 1, MPI_COMM_WORLD);
  MPI_Comm both, self, pair;
  MPI_Comm_split(MPI_COMM_WORLD, rank < 2 ? 0 : MPI_UNDEFINED, rank, &both);
  MPI_Comm_split(MPI_COMM_WORLD, rank, 0, &self);
  MPI_Comm_split(MPI_COMM_WORLD, rank != 1 ? 0 : MPI_UNDEFINED, rank, &pair);
  if (rank < 2) check_beside_another(both, self, rank, partner);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 2) raise(SIGKILL);
  check_beside_another(both, pair, rank, partner);
  return check::finish();
}
