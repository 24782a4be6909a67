// SPDX-License-Identifier: BSD-3-Clause
// Puts to two others, then ARMCI_AllFence, while both of them compute for a while.
#include <armci.h>
#include <mpi.h>
#include <unistd.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  ARMCI_Init();
  int me, all;
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Comm_size(MPI_COMM_WORLD, &all);
  void* memory[16];
  ARMCI_Malloc(memory, 64);
  ARMCI_Barrier();
  if (me == 0) {
    for (int p = 1; p < all; ++p) ARMCI_Put(memory[0], memory[p], 64, p);
    ARMCI_AllFence();
  } else {
    usleep(20000);
  }
  ARMCI_Barrier();
  ARMCI_Free(memory[me]);
  ARMCI_Finalize();
  MPI_Finalize();
  return 0;
}
