// SPDX-License-Identifier: BSD-3-Clause
// One of two programs of a job, whose static variables have the same sizes, but lie in another order (SWAPPED): they
// are not symmetric, and the heap is.
#include "../check.h"

#ifdef SWAPPED
static volatile long second = 2, first = 1;
#else
static volatile long first = 1, second = 2;
#endif

int main(void) {
  shmem_init();
  const int me = shmem_my_pe(), other = !me;
  long* const word = shmem_calloc(1, sizeof *word);
  CHECK(!shmem_addr_accessible((const void*)&first, other) && !shmem_addr_accessible((const void*)&second, other));
  CHECK(shmem_ptr((const void*)&first, other) == NULL);
  shmem_p(word, 5L + me, other);
  shmem_barrier_all();
  CHECK(*word == 5 + other && first == 1 && second == 2);
  shmem_finalize();
  return 0;
}
