// SPDX-License-Identifier: BSD-3-Clause
// pes: 2
// A program that is built with a sanitizer, above a library that is not: its static variables are symmetric too.
#include "check.h"

static long one, many[1000];

int main(void) {
  shmem_init();
  const int me = shmem_my_pe(), other = 1 - me;
  long* const heap = shmem_calloc(1, sizeof(long));
  const long value = 7 + me;
  shmem_long_p(&one, value, other);
  shmem_long_p(&many[999], value, other);
  shmem_long_p(heap, value, other);
  shmem_barrier_all();
  CHECK(one == 7 + other && many[999] == 7 + other && *heap == 7 + other);
  shmem_finalize();
  return 0;
}
