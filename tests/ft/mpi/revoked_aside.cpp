// SPDX-License-Identifier: BSD-3-Clause
// ranks: 5
// What a rank has stored for others of its host says nothing of a revocation: those may find it before the packet that
// tells them of that, and nobody has failed. Rank 2 stands between rank 0, on another host, and its own host's ranks.
#include <mpi.h>
#include <signal.h>
#include <unistd.h>

#include <vector>

#include "ft/wake.hpp"
#include "mpi/check.hpp"

namespace {

constexpr int kAhead = 2000;  // messages from rank 2 to rank 3, more than any link holds

/// Rank 3 comes to a broadcast from rank 0, who never does, when rank 2 has been told that it is revoked.
void interrupt(int rank, int late) {
  MPI_Comm c;
  MPI_Comm_dup(MPI_COMM_WORLD, &c);
  int x = 7;
  for (int i = 0; i < 6; ++i) CHECK(MPI_Bcast(&x, 1, MPI_INT, 0, c) == MPI_SUCCESS);
  MPI_Barrier(MPI_COMM_WORLD);
  std::vector<MPI_Request> ahead(kAhead);
  if (rank == 2) {
    for (MPI_Request& r : ahead) MPI_Isend(&x, 1, MPI_INT, 3, 5, MPI_COMM_WORLD, &r);
    MPI_Send(nullptr, 0, MPI_INT, 0, 6, MPI_COMM_WORLD);
  } else if (rank == 0) {
    MPI_Recv(nullptr, 0, MPI_INT, 2, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPIX_Comm_revoke(c);
  } else if (rank == 3) {
    wake::await();
  }
  if (rank != 0) CHECK(check::class_of(MPI_Bcast(&x, 1, MPI_INT, 0, c)) == MPIX_ERR_REVOKED);
  if (rank == 2) {
    kill(late, SIGUSR1);
    MPI_Waitall(kAhead, ahead.data(), MPI_STATUSES_IGNORE);
  } else if (rank == 3) {
    for (int i = 0; i < kAhead; ++i) MPI_Recv(&x, 1, MPI_INT, 2, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  MPI_Comm_free(&c);
}

}  // namespace

int main(int argc, char** argv) {
  wake::hold();
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  int late = getpid();
  MPI_Bcast(&late, 1, MPI_INT, 3, MPI_COMM_WORLD);
  for (int i = 0; i < 3; ++i) interrupt(check::rank(), late);
  return check::finish();
}
