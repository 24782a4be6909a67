// SPDX-License-Identifier: BSD-3-Clause
// pes: 2
// fails with: shmem_get on PE 1: 8 bytes at .* are not symmetric
#include <shmem.h>

int main(void) {
  shmem_init();
  long here = 0, word = 0;
  if (shmem_my_pe() == 1) shmem_long_get(&here, &word, 1, 0);
  shmem_barrier_all();
  shmem_finalize();
  return 0;
}
