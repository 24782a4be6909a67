// SPDX-License-Identifier: BSD-3-Clause
// pes: 2
// fails with: shmem_signal_add on PE 1: 8 bytes at .* are not symmetric
#include <shmem.h>

int main(void) {
  shmem_init();
  uint64_t word = 0;
  if (shmem_my_pe() == 1) shmem_signal_add(&word, 1, 0);
  shmem_barrier_all();
  shmem_finalize();
  return 0;
}
