// SPDX-License-Identifier: BSD-3-Clause
// pes: 4
// Put, get, by type, bits, strides, without waiting and with a signal, in the heap and in static variables.
#include <stdlib.h>
#include <string.h>

#include "check.h"

enum { kCount = 1000, kLong = 1 << 20 };

static long in_data[kCount] = {1};
static long in_bss[kCount];
static uint64_t signal_word;
static char byte_word;
static long double wide[4];

static void around(long* target, int me, int n) {
  const int next = (me + 1) % n, before = (me + n - 1) % n;
  long source[kCount], result[kCount];
  for (int i = 0; i < kCount; ++i) source[i] = me * 100000L + i;
  shmem_barrier_all();
  shmem_long_put(target, source, kCount, next);
  shmem_barrier_all();
  for (int i = 0; i < kCount; ++i) CHECK(target[i] == before * 100000L + i);
  shmem_long_get(result, target, kCount, next);
  for (int i = 0; i < kCount; ++i) CHECK(result[i] == me * 100000L + i);
  shmem_barrier_all();
  shmem_put_nbi(target, source, kCount, before);
  shmem_quiet();
  shmem_get_nbi(result, target, kCount, before);
  shmem_quiet();
  CHECK(memcmp(source, result, sizeof source) == 0);
  shmem_barrier_all();
  shmem_long_p(&target[7], -5L - me, next);
  shmem_quiet();
  CHECK(shmem_g(&target[7], next) == -5L - me);
  shmem_barrier_all();
  /* Every third element here is every second one there. */
  memset(target, 0, kCount * sizeof *target);
  shmem_barrier_all();
  shmem_iput(target, source, 2, 3, 300, next);
  shmem_barrier_all();
  for (int i = 0; i < 600; ++i) CHECK(target[i] == (i % 2 ? 0 : before * 100000L + i / 2 * 3));
  shmem_iget64(result, target, 1, 2, 300, next);
  for (int i = 0; i < 300; ++i) CHECK(result[i] == me * 100000L + 3 * i);
  shmem_barrier_all();
}

static void long_ones(int me, int n) {
  const int next = (me + 1) % n, before = (me + n - 1) % n;
  char* target = shmem_malloc(kLong);
  char* source = malloc(kLong);
  for (int i = 0; i < kLong; ++i) source[i] = (char)(i * 7 + me);
  shmem_putmem(target, source, kLong, next);
  shmem_barrier_all();
  for (int i = 0; i < kLong; ++i) CHECK(target[i] == (char)(i * 7 + before));
  memset(source, 0, kLong);
  shmem_getmem(source, target, kLong, next);
  for (int i = 0; i < kLong; ++i) CHECK(source[i] == (char)(i * 7 + me));
  shmem_free(target);
  free(source);
}

/* What stands before a fence is there before what stands behind it; what comes with a signal before the signal. */
static void order(int me, int n) {
  enum { kRounds = 200 };
  const int next = (me + 1) % n;
  long* data = shmem_calloc(kCount + 1, sizeof *data);
  long* flag = data + kCount;
  long source[kCount];
  for (long round = 1; round <= kRounds; ++round) {
    for (int i = 0; i < kCount; ++i) source[i] = round;
    if (round % 2) {
      shmem_long_put_nbi(data, source, kCount, next);
      shmem_fence();
      shmem_p(flag, round, next);
      shmem_wait_until(flag, SHMEM_CMP_GE, round);
    } else {
      shmem_long_put_signal(data, source, kCount, &signal_word, 1, SHMEM_SIGNAL_ADD, next);
      CHECK(shmem_signal_wait_until(&signal_word, SHMEM_CMP_GE, (uint64_t)round / 2) >= (uint64_t)round / 2);
    }
    for (int i = 0; i < kCount; ++i) CHECK(data[i] == round);
    shmem_barrier_all();
  }
  shmem_put_signal_nbi(data, source, 1, &signal_word, 77, SHMEM_SIGNAL_SET, next);
  shmem_signal_wait_until(&signal_word, SHMEM_CMP_EQ, 77);
  CHECK(shmem_signal_fetch(&signal_word) == 77);
  shmem_free(data);
}

static void contexts(int me, int n) {
  const int next = (me + 1) % n;
  shmem_ctx_t ctx[3];
  shmem_team_t team = SHMEM_TEAM_INVALID;
  long* target = shmem_calloc(3, sizeof *target);
  for (int i = 0; i < 3; ++i) CHECK(shmem_ctx_create(i ? SHMEM_CTX_PRIVATE : 0, &ctx[i]) == 0);
  CHECK(shmem_ctx_get_team(ctx[0], &team) == 0 && team == SHMEM_TEAM_WORLD);
  long source[3] = {10 + me, 20 + me, 30 + me}, got = -1;
  for (int i = 0; i < 3; ++i) shmem_put_nbi(ctx[i], &target[i], &source[i], 1, next);
  for (int i = 0; i < 3; ++i) {
    shmem_ctx_quiet(ctx[i]);
    shmem_ctx_long_get(ctx[i], &got, &target[i], 1, next);
    CHECK(got == source[i]);
  }
  for (int i = 0; i < 3; ++i) shmem_ctx_destroy(ctx[i]);
  /* PEs of the context's team. */
  CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, n - 1, -1, n, NULL, 0, &team) == 0);
  CHECK(shmem_team_my_pe(team) == n - 1 - me);
  CHECK(shmem_team_create_ctx(team, 0, &ctx[0]) == 0);
  shmem_long_p(&target[0], me, me);
  shmem_barrier_all();
  CHECK(shmem_ctx_long_g(ctx[0], &target[0], 0) == n - 1);
  shmem_barrier_all();
  shmem_ctx_destroy(ctx[0]);
  shmem_team_destroy(team);
  shmem_free(target);
}

int main(void) {
  shmem_init();
  const int me = shmem_my_pe(), n = shmem_n_pes();
  long* in_heap = shmem_malloc(kCount * sizeof *in_heap);
  around(in_heap, me, n);
  around(in_data, me, n);
  around(in_bss, me, n);
  long_ones(me, n);
  order(me, n);
  contexts(me, n);
  shmem_p(&byte_word, (char)(me + 1), (me + 1) % n);
  shmem_p(&wide[1], (long double)me / 3, (me + 1) % n);
  shmem_barrier_all();
  CHECK(byte_word == (me + n - 1) % n + 1 && wide[1] == (long double)((me + n - 1) % n) / 3);
  CHECK(shmem_addr_accessible(&byte_word, 0) && shmem_addr_accessible(in_heap, n - 1));
  CHECK(!shmem_addr_accessible(&in_heap, 0) && shmem_ptr(in_heap, me) == in_heap);
  shmem_finalize();
  return 0;
}
