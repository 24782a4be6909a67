// SPDX-License-Identifier: BSD-3-Clause
// pes: 2
// fails with: rmq: shmem_init: MPI has ended for good with MPI_Finalize
#include <mpi.h>
#include <shmem.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Finalize();
  shmem_init();
  shmem_finalize();
  return 0;
}
