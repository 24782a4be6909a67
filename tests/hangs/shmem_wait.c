// SPDX-License-Identifier: BSD-3-Clause
// ranks: 3
// code: 125
// says: waits  *shmem_wait_until  *its memory at 0x[0-9a-f]* to be == 7, which any PE may change
#include <shmem.h>

static long word, other;

int main(void) {
  shmem_init();
  const int me = shmem_my_pe();
  shmem_long_p(&other, me, (me + 1) % 3);
  if (me == 1) shmem_long_wait_until(&word, SHMEM_CMP_EQ, 7);
  shmem_barrier_all();
  return 0;
}
