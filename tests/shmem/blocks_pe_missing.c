// SPDX-License-Identifier: BSD-3-Clause
// pes: 2
// fails with: shmem_ibput on PE 1: there is no PE -1 .there are 0..1.
#include <shmem.h>

static long word[4];

int main(void) {
  shmem_init();
  const long source[4] = {1, 2, 3, 4};
  if (shmem_my_pe() == 1) shmem_ibput(word, source, 2, 2, 2, 2, -1);
  shmem_barrier_all();
  shmem_finalize();
  return 0;
}
