// SPDX-License-Identifier: BSD-3-Clause
// pes: 4
// Signals without data: they come behind what stands before a fence, and none is lost. A quiet of some PEs. Sessions,
// which change nothing but, perhaps, the time.
#include <stdlib.h>

#include "check.h"

enum { kRounds = 300, kMany = 100 };
static int me, n, next;
static uint64_t signal_word, arrived;

static void alone(void) {
  for (int i = 0; i < kMany; ++i)
    for (int pe = 0; pe < n; ++pe) shmem_signal_add(&signal_word, (uint64_t)i, pe);
  const uint64_t all = (uint64_t)n * kMany * (kMany - 1) / 2;
  CHECK(shmem_signal_wait_until(&signal_word, SHMEM_CMP_GE, all) == all);
  shmem_barrier_all();
  shmem_signal_set(&signal_word, UINT64_MAX, next);
  shmem_signal_wait_until(&signal_word, SHMEM_CMP_EQ, UINT64_MAX);
  CHECK(shmem_signal_fetch(&signal_word) == UINT64_MAX);
  shmem_barrier_all();
  signal_word = 0;
  shmem_barrier_all();
}

/* A batch of puts, its end told by a signal. */
static void sessions(shmem_ctx_t ctx) {
  long* data = shmem_calloc(kMany, sizeof *data);
  const shmem_ctx_session_config_t config = {.total_ops = kMany};
  for (long round = 1; round <= kRounds; ++round) {
    shmem_ctx_session_start(ctx, SHMEM_CTX_SESSION_BATCH, &config, SHMEM_CTX_SESSION_TOTAL_OPS);
    if (round % 3 == 0) shmem_ctx_session_start(ctx, 0, NULL, 0);
    for (int i = 0; i < kMany; ++i) shmem_p(ctx, &data[i], round, next);
    shmem_ctx_fence(ctx);
    if (round % 2)
      shmem_signal_add(ctx, &signal_word, 1, next);
    else
      shmem_signal_set(ctx, &signal_word, (uint64_t)round, next);
    shmem_ctx_session_stop(ctx);
    shmem_ctx_session_stop(ctx);
    shmem_signal_wait_until(&signal_word, SHMEM_CMP_GE, (uint64_t)round);
    for (int i = 0; i < kMany; ++i) CHECK(data[i] == round);
    shmem_barrier_all();
  }
  signal_word = 0;
  shmem_free(data);
}

/* Behind the quiet of PE `next` a third PE finds there what was put; what was put elsewhere has time. */
static void quiet_of_one(shmem_ctx_t ctx) {
  long* words = shmem_calloc(3, sizeof *words); /* what is put; how far a third PE may look; how far it has */
  static long source[kRounds + 1];
  const int witness = (me + 2) % n, before = (me + n - 1) % n;
  for (long round = 1; round <= kRounds; ++round) {
    source[round] = round;
    shmem_ctx_long_put_nbi(ctx, &words[0], &source[round], 1, next);
    shmem_signal_add(ctx, &arrived, 1, witness);
    const int both[] = {next, next};
    shmem_ctx_pe_quiet(ctx, both, round % 2 ? 1 : 2);
    shmem_long_p(&words[1], round, witness);
    /* I am the witness of the PE two before me, and look at the one before me. */
    shmem_wait_until(&words[1], SHMEM_CMP_GE, round);
    CHECK(shmem_long_g(&words[0], before) >= round);
    shmem_long_p(&words[2], round, (me + n - 2) % n);
    shmem_wait_until(&words[2], SHMEM_CMP_GE, round);
  }
  shmem_ctx_pe_quiet(ctx, &witness, 1);
  shmem_ctx_pe_quiet(ctx, NULL, 0);
  shmem_barrier_all();
  CHECK(arrived == kRounds);
  shmem_barrier_all();
  arrived = 0;
  shmem_free(words);
}

int main(void) {
  shmem_init();
  me = shmem_my_pe();
  n = shmem_n_pes();
  next = (me + 1) % n;
  alone();
  shmem_ctx_t ctx;
  CHECK(shmem_ctx_create(0, &ctx) == 0);
  sessions(ctx);
  sessions(SHMEM_CTX_DEFAULT);
  shmem_ctx_session_start(SHMEM_CTX_INVALID, SHMEM_CTX_SESSION_BATCH, NULL, 0);
  shmem_ctx_session_stop(SHMEM_CTX_INVALID);
  quiet_of_one(ctx);
  quiet_of_one(SHMEM_CTX_DEFAULT);
  shmem_ctx_destroy(ctx);
  shmem_finalize();
  return 0;
}
