// SPDX-License-Identifier: BSD-3-Clause
// ranks: 3
// over: tcp
// code: 125
// says: ^lost connection: Rank 0 has no connection to rank 1 any more: .* no file descriptor left here; raise the limit
// says: ^ +1 +waits +MPI_Recv +a message from rank 0
// Rank 0 finds no descriptor for its call to rank 1 and does not look at what MPI_Ssend returns; rank 1 waits.
#include <mpi.h>
#include <stdlib.h>
#include <sys/resource.h>

int main(int argc, char** argv) {
  int rank, x = 0;
  setenv("RMQ_TCP_CONNECT_TIMEOUT", "300ms", 1);
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  if (rank == 0) {
    const struct rlimit none = {0, 0};
    setrlimit(RLIMIT_NOFILE, &none);
    MPI_Ssend(&x, 1, MPI_INT, 1, 1, MPI_COMM_WORLD);
  }
  MPI_Recv(&x, 1, MPI_INT, (rank + 2) % 3, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Finalize();
  return 0;
}
