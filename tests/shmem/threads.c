// SPDX-License-Identifier: BSD-3-Clause
// pes: 3
// Threads: each in the collectives of a team of its own, long and short, while another puts; two in the quiet of one
// context.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

enum { kThreads = 3, kMost = 7000, kRounds = 25, kPuts = 300, kLong = 8 << 20 };

static shmem_team_t teams[kThreads];
static int *in[kThreads], *out[kThreads];
static long* words;
static int n, next;

static void* collectives(void* number) {
  const int k = (int)(intptr_t)number, me = shmem_team_my_pe(teams[k]);
  unsigned seed = 77 * (unsigned)k + 1; /* the same on all PEs */
  for (int round = 0; round < kRounds; ++round) {
    const size_t count = 1000 + (size_t)rand_r(&seed) % (kMost - 1000), each = count / (size_t)n;
    const int root = rand_r(&seed) % n;
    for (size_t i = 0; i < count; ++i) in[k][i] = 1000 * me + round + (int)i;
    switch (rand_r(&seed) % 4) {
      case 0:
        CHECK(shmem_int_broadcast(teams[k], out[k], in[k], count, root) == 0);
        for (size_t i = 0; i < count; ++i) CHECK(out[k][i] == 1000 * root + round + (int)i);
        break;
      case 1:
        CHECK(shmem_int_fcollect(teams[k], out[k], in[k], count) == 0);
        for (int pe = 0; pe < n; ++pe)
          for (size_t i = 0; i < count; ++i) CHECK(out[k][(size_t)pe * count + i] == 1000 * pe + round + (int)i);
        break;
      case 2:
        CHECK(shmem_int_sum_reduce(teams[k], in[k], in[k], count) == 0);
        for (size_t i = 0; i < count; ++i) CHECK(in[k][i] == 1000 * n * (n - 1) / 2 + n * (round + (int)i));
        break;
      default:
        CHECK(shmem_int_alltoall(teams[k], out[k], in[k], each) == 0);
        for (int pe = 0; pe < n; ++pe)
          for (size_t i = 0; i < each; ++i)
            CHECK(out[k][(size_t)pe * each + i] == 1000 * pe + round + (int)((size_t)me * each + i));
    }
  }
  return NULL;
}

static void* puts_and_adds(void* unused) {
  for (long i = 1; i <= kPuts; ++i) {
    shmem_long_p(&words[0], i, next);
    shmem_long_atomic_inc(&words[1], next);
    if (i % 50 != 0) continue;
    shmem_quiet();
    shmem_long_wait_until(&words[1], SHMEM_CMP_GE, i);
  }
  return unused;
}

static void* quiet(void* unused) {
  shmem_quiet();
  return unused;
}

/* Another thread's quiet does not take this one's operations with it. */
static void each_its_quiet(void) {
  char* to = shmem_malloc(kLong);
  char* from = malloc(kLong);
  for (int round = 0; round < 10; ++round) {
    memset(from, 1, kLong);
    shmem_barrier_all();
    shmem_putmem_nbi(to, from, kLong, next);
    pthread_t other;
    CHECK(pthread_create(&other, NULL, quiet, NULL) == 0);
    for (int look = 0; look < 50 * round; ++look) shmem_test(&words[2], SHMEM_CMP_EQ, 1); /* for some time */
    shmem_quiet();
    memset(from, 2, kLong);
    CHECK(pthread_join(other, NULL) == 0);
    shmem_barrier_all();
    for (size_t i = 0; i < kLong; ++i) CHECK(to[i] == 1);
    shmem_barrier_all();
    memset(to, 0, kLong);
  }
  free(from);
  shmem_free(to);
}

int main(void) {
  int level;
  CHECK(shmem_init_thread(SHMEM_THREAD_MULTIPLE, &level) == 0 && level == SHMEM_THREAD_MULTIPLE);
  n = shmem_n_pes(), next = (shmem_my_pe() + 1) % n;
  words = shmem_calloc(3, sizeof *words);
  for (int k = 0; k < kThreads; ++k) {
    in[k] = shmem_malloc(kMost * sizeof(int));
    out[k] = shmem_malloc((size_t)n * kMost * sizeof(int));
    CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, k % 2 ? n - 1 : 0, k % 2 ? -1 : 1, n, NULL, 0, &teams[k]) == 0);
  }
  pthread_t threads[kThreads + 1];
  for (int k = 0; k < kThreads; ++k) pthread_create(&threads[k], NULL, collectives, (void*)(intptr_t)k);
  pthread_create(&threads[kThreads], NULL, puts_and_adds, NULL);
  for (int k = 0; k <= kThreads; ++k) pthread_join(threads[k], NULL);
  shmem_barrier_all();
  CHECK(words[0] == kPuts && words[1] == kPuts);
  each_its_quiet();
  shmem_finalize();
  return 0;
}
