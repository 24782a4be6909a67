// SPDX-License-Identifier: BSD-3-Clause
// pes: 3
// The functions of the heap are barriers: what was put before is there, and memory that is given again is nobody's
// target.
#include <stdlib.h>

#include "check.h"

enum { kMost = 1000000 };

static int me, n;
static long* data;

static void fill(long* to, long value, int words) {
  for (int i = 0; i < words; ++i) to[i] = value;
}
static void check(const long* in, long value, int words) {
  for (int i = 0; i < words; ++i) CHECK(in[i] == value);
}

static void order(int words) {
  const int to = (me + 1) % n, from = (me + n - 1) % n;
  long* const first = shmem_malloc(words * sizeof *first);
  fill(data, me + 1, words);
  shmem_put_nbi(first, data, words, to);
  long* const other = shmem_malloc(64);
  fill(data, 1000, words); /* may be used again */
  check(first, from + 1, words);
  shmem_sync_all();
  shmem_put(first, data, words, to);
  shmem_put_nbi(first, data, words, from);
  shmem_free(first);
  fill(data, 2000, words);
  long* const second = shmem_align(8, words * sizeof *second);
  fill(second, 5, words);
  shmem_free(other);
  check(second, 5, words);
  shmem_free(second);
}

int main(void) {
  shmem_init();
  me = shmem_my_pe(), n = shmem_n_pes();
  data = malloc(kMost * sizeof *data);
  for (int i = 0; i < 100; ++i) order(1);
  for (int i = 0; i < 20; ++i) order(20000);
  for (int i = 0; i < 5; ++i) order(kMost);
  shmem_finalize();
  free(data);
  return 0;
}
