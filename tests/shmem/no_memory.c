// SPDX-License-Identifier: BSD-3-Clause
// pes: 2
// options: -x SHMEM_SYMMETRIC_SIZE=8T
// More than the system has is not to be had: all PEs get NULL, and go on.
#include "check.h"

enum { kMega = 1024 * 1024 };

int main(void) {
  shmem_init();
  CHECK(shmem_malloc((size_t)7 << 40) == NULL);
  CHECK(shmem_malloc((size_t)-1) == NULL);
  CHECK(shmem_calloc((size_t)1 << 33, (size_t)1 << 33) == NULL);
  long* const words = shmem_malloc(sizeof(long));
  CHECK(words != NULL);
  *words = 5;
  CHECK(shmem_realloc(words, (size_t)7 << 40) == NULL);
  CHECK(*words == 5);
  char* const all = shmem_malloc((size_t)40 * kMega);
  CHECK(all != NULL);
  shmem_barrier_all();
  const char one = 1;
  all[40 * kMega - 1] = 0;
  shmem_barrier_all();
  shmem_char_put(all + 40 * kMega - 1, &one, 1, 1 - shmem_my_pe());
  shmem_barrier_all();
  CHECK(all[40 * kMega - 1] == 1);
  shmem_finalize();
  return 0;
}
