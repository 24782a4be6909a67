// SPDX-License-Identifier: BSD-3-Clause
// ranks: 2
// fails with: rank 1.*MPI_Send: invalid tag -7 .argument tag; allowed 0..536870911.
// The default handler ends the job and says who did what.
#include "check.hpp"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  if (check::rank() == 1) MPI_Send(nullptr, 0, MPI_INT, 0, -7, MPI_COMM_WORLD);
  MPI_Recv(nullptr, 0, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  return check::finish();
}
