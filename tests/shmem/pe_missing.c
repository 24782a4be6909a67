// SPDX-License-Identifier: BSD-3-Clause
// pes: 2
// fails with: shmem_p on PE 0: there is no PE 2 .there are 0..1.
#include <shmem.h>

static long word;

int main(void) {
  shmem_init();
  if (shmem_my_pe() == 0) shmem_long_p(&word, 1, 2);
  shmem_barrier_all();
  shmem_finalize();
  return 0;
}
