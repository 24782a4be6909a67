// SPDX-License-Identifier: BSD-3-Clause
// ranks: 2
// code: 134
// says: rank 1: MPI_Barrier has been called in a handler of active messages, which may reply, and call nothing else
#include <mpi.h>
#include <rmq_am.h>

static void handler(rmq_am_message* message, void* context) {
  (void)message, (void)context;
  MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char** argv) {
  int rank;
  rmq_am am;
  const rmq_am_handler all[] = {handler};
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  rmq_am_create(MPI_COMM_WORLD, 0, 1, all, 0, &am);
  if (rank == 0) rmq_am_request(am, 1, 0, 0, 0, 0, 0);
  rmq_am_free(&am);
  MPI_Finalize();
}
