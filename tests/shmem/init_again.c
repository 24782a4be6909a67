// SPDX-License-Identifier: BSD-3-Clause
// pes: 3
// SHMEM started several times, one in the other and one after the other: it ends with the last shmem_finalize, keeps
// its symmetric variables, and has an empty heap when it starts again.
#include <string.h>

#include "check.h"

enum { kBytes = 1 << 20 };
static long word = 5;

static int is_active(void) {
  int yes = -1;
  shmem_query_initialized(&yes);
  return yes != 0;
}

/* Everything is used once. */
static void use(long round) {
  const int me = shmem_my_pe(), n = shmem_n_pes(), next = (me + 1) % n;
  static long source, sum;
  static long long_source[3000], long_sum[3000];
  shmem_long_p(&word, round, next);
  shmem_barrier_all();
  CHECK(word == round);
  char* const block = shmem_calloc(kBytes, 1);
  static char* first;
  if (round == 1) first = block;
  CHECK((block == first) == (round % 3 == 1));
  CHECK(block && block[0] == 0 && block[kBytes - 1] == 0);
  memset(block, 1 + me, kBytes);
  shmem_barrier_all();
  char there = 0;
  shmem_char_get(&there, block + kBytes - 1, 1, next);
  CHECK(there == 1 + next);
  source = me + round;
  CHECK(shmem_sum_reduce(SHMEM_TEAM_WORLD, &sum, &source, 1) == 0 && sum == n * round + n * (n - 1) / 2);
  for (int i = 0; i < 3000; ++i) long_source[i] = me + i;
  CHECK(shmem_sum_reduce(SHMEM_TEAM_WORLD, long_sum, long_source, 3000) == 0);
  for (int i = 0; i < 3000; ++i) CHECK(long_sum[i] == n * i + n * (n - 1) / 2);
  shmem_team_t team;
  shmem_ctx_t ctx;
  CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, 2, NULL, 0, &team) == 0 &&
        (team != SHMEM_TEAM_INVALID) == (me < 2));
  CHECK(shmem_ctx_create(0, &ctx) == 0);
  /* Completed by the end, which also frees the block, and destroys team and context. */
  static long on_ctx;
  shmem_atomic_add(ctx, &on_ctx, 1L, next);
}

int main(void) {
  long round = 0;
  CHECK(!is_active());
  for (int again = 0; again < 4; ++again) {
    int level = -1;
    shmem_init();
    use(++round);
    CHECK(shmem_init_thread(SHMEM_THREAD_SINGLE, &level) == 0 && level >= SHMEM_THREAD_SINGLE);
    shmem_init();
    use(++round);
    for (int i = 0; i < 2; ++i) {
      /* What was put before an inner end is there behind it, and the others have come. */
      shmem_long_p(&word, -round - i, (shmem_my_pe() + 1) % shmem_n_pes());
      shmem_finalize();
      CHECK(is_active() && word == -round - i);
      shmem_sync_all();
    }
    use(++round);
    shmem_finalize();
    if (is_active()) return 1;
  }
  shmem_finalize(); /* one too many: nothing happens */
  shmem_init();
  use(++round);
  return 0; /* without shmem_finalize */
}
