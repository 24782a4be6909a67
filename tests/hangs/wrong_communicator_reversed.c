// SPDX-License-Identifier: BSD-3-Clause
// ranks: 2
// code: 125
// says: ^wrong communicator: Rank 1 .* from rank 1 with tag 0 on reversed, which nobody sends; it has a message from rank 0 with tag 0 on MPI_COMM_WORLD
// The sender has the same number in another communicator, and is another process there.
#include <mpi.h>

int main(int argc, char** argv) {
  int rank, value = 0;
  MPI_Comm reversed;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &reversed);
  MPI_Comm_set_name(reversed, "reversed");
  if (rank == 0) MPI_Send(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
  if (rank == 1) MPI_Recv(&value, 1, MPI_INT, 0, 0, reversed, MPI_STATUS_IGNORE);
  MPI_Finalize();
  return 0;
}
