// SPDX-License-Identifier: BSD-3-Clause
// pes: 2
// options: -x SHMEM_SYMMETRIC_SIZE=0
// A program that has no symmetric heap: its static variables are symmetric nevertheless.
#include "check.h"

static long word, sum;

int main(void) {
  shmem_init();
  const int me = shmem_my_pe(), n = shmem_n_pes(), next = (me + 1) % n;
  CHECK(shmem_malloc(8) == NULL);
  CHECK(shmem_addr_accessible(&word, next));
  shmem_p(&word, 7L + me, next);
  shmem_barrier_all();
  CHECK(word == 7 + (me + n - 1) % n);
  shmem_atomic_add(&sum, 1L, 0);
  shmem_barrier_all();
  CHECK(me != 0 || sum == n);
  shmem_finalize();
  return 0;
}
