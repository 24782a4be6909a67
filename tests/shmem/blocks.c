// SPDX-License-Identifier: BSD-3-Clause
// pes: 3
// Blocks with gaps between them: put and got by type, by bits, on a context, in the heap and in static variables. No
// gap is touched; what has been put may be changed at once.
#include <stdlib.h>
#include <string.h>

#include "check.h"

enum { kMost = 1 << 16 };
static int in_bss[kMost];

static int value(int pe, size_t block, size_t i) {
  return pe * 1000000 + (int)(block * 1000 + i);
}

/* Whether blocks of `size` values of that PE lie at a distance of `stride`, and -1 in between. */
static void check_blocks(const int* at, int pe, size_t stride, size_t size, size_t blocks) {
  for (size_t b = 0; b < blocks; ++b)
    for (size_t i = 0; i < stride; ++i) CHECK(at[b * stride + i] == (i < size ? value(pe, b, i) : -1));
}

static void around(int* target, size_t size, size_t blocks, size_t gap_here, size_t gap_there) {
  const int me = shmem_my_pe(), n = shmem_n_pes(), next = (me + 1) % n, before = (me + n - 1) % n;
  const size_t here = size + gap_here, there = size + gap_there;
  int* const source = malloc(kMost * sizeof *source);
  for (int by_bits = 0; by_bits < 2; ++by_bits) {
    memset(target, -1, kMost * sizeof *target);
    memset(source, -1, kMost * sizeof *source);
    for (size_t b = 0; b < blocks; ++b)
      for (size_t i = 0; i < size; ++i) source[b * here + i] = value(me, b, i);
    shmem_barrier_all();
    if (by_bits)
      shmem_ibput32(target, source, (ptrdiff_t)there, (ptrdiff_t)here, size, blocks, next);
    else
      shmem_ibput(target, source, (ptrdiff_t)there, (ptrdiff_t)here, size, blocks, next);
    memset(source, -1, kMost * sizeof *source);
    shmem_barrier_all();
    check_blocks(target, before, there, size, blocks);
    if (by_bits)
      shmem_ibget32(source, target, (ptrdiff_t)here, (ptrdiff_t)there, size, blocks, next);
    else
      shmem_ibget(source, target, (ptrdiff_t)here, (ptrdiff_t)there, size, blocks, next);
    check_blocks(source, me, here, size, blocks);
    shmem_barrier_all();
  }
  free(source);
}

/* PEs of the context's team; the context's quiet completes them. */
static void on_context(void) {
  const int me = shmem_my_pe(), n = shmem_n_pes();
  shmem_team_t team = SHMEM_TEAM_INVALID;
  shmem_ctx_t ctx;
  static long flag, pairs[8];
  CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, n - 1, -1, n, NULL, 0, &team) == 0);
  CHECK(shmem_team_create_ctx(team, 0, &ctx) == 0);
  const long source[4] = {me, me + 1, me + 2, me + 3};
  const int next = (shmem_team_my_pe(team) + 1) % n, it = (me + n - 1) % n;
  shmem_ibput(ctx, pairs, source, 4, 2, 2, 2, next);
  shmem_ctx_quiet(ctx);
  shmem_p(&flag, 1, it);
  shmem_wait_until(&flag, SHMEM_CMP_EQ, 1);
  const long from = (me + 1) % n;
  const long expected[8] = {from, from + 1, 0, 0, from + 2, from + 3, 0, 0};
  CHECK(memcmp(pairs, expected, sizeof pairs) == 0);
  long got[4];
  shmem_ctx_long_ibget(ctx, got, pairs, 2, 4, 2, 2, next);
  CHECK(memcmp(got, source, sizeof got) == 0);
  shmem_ctx_destroy(ctx);
  shmem_barrier_all();
  shmem_team_destroy(team);
}

int main(void) {
  shmem_init();
  int* in_heap = shmem_malloc(kMost * sizeof *in_heap);
  static const size_t kCases[][4] = {
      {1, 500, 0, 3},  {2, 300, 1, 0},    {3, 100, 0, 0}, {127, 50, 2, 1}, {128, 50, 3, 5},
      {129, 50, 1, 7}, {5000, 12, 9, 11}, {0, 10, 4, 4},  {4, 0, 1, 1},
  };
  for (size_t i = 0; i < sizeof kCases / sizeof *kCases; ++i) {
    around(in_heap, kCases[i][0], kCases[i][1], kCases[i][2], kCases[i][3]);
    around(in_bss, kCases[i][0], kCases[i][1], kCases[i][2], kCases[i][3]);
  }
  on_context();
  shmem_finalize();
  return 0;
}
