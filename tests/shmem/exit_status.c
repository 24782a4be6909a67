// SPDX-License-Identifier: BSD-3-Clause
// pes: 2
// fails with: shmem_global_exit was called with status 7
#include <shmem.h>

static long never;

int main(void) {
  shmem_init();
  if (shmem_my_pe() == 1) shmem_global_exit(7);
  shmem_wait_until(&never, SHMEM_CMP_NE, 0L);
  return 0;
}
