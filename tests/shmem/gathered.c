// SPDX-License-Identifier: BSD-3-Clause
// pes: 4
// Puts of few bytes that do not wait: to another host many of them travel as one. None may be lost, come twice, pass a
// fence, or stay behind: at the quiet of their context, when their PE waits, or when it computes.
#include <stdlib.h>
#include <string.h>

#include "check.h"

enum { kMany = 1 << 18, kMost = 600, kRounds = 500 };

static int me, n, next, before;

/* More than may be under way, each of a word of its own. */
static void many(void) {
  long* words = shmem_calloc(kMany, sizeof *words);
  long* source = malloc(kMany * sizeof *source);
  for (long i = 0; i < kMany; ++i) source[i] = me * 10000000L + i;
  for (long i = 0; i < kMany; ++i) {
    const long j = i * 7919 % kMany; /* all of them, not in order */
    shmem_long_put_nbi(&words[j], &source[j], 1, next);
  }
  shmem_barrier_all();
  long good = 0;
  for (long i = 0; i < kMany; ++i) good += words[i] == before * 10000000L + i;
  CHECK(good == kMany);
  shmem_free(words);
  free(source);
}

/* Those that are gathered and those that are too long for it, to all PEs in turns; nothing beside them is touched. */
static void sizes(void) {
  char* bytes = shmem_malloc((size_t)n * kMost * (kMost + 1));
  char* source = malloc(kMost);
  memset(bytes, -1, (size_t)n * kMost * (kMost + 1));
  for (int i = 0; i < kMost; ++i) source[i] = (char)((i + me) % 100);
  shmem_barrier_all();
  for (int length = 1; length <= kMost; ++length) {
    const size_t at = ((size_t)me * kMost + (size_t)length - 1) * (kMost + 1);
    for (int pe = 0; pe < n; ++pe) shmem_putmem_nbi(bytes + at, source, (size_t)length, pe);
  }
  shmem_barrier_all();
  for (int pe = 0; pe < n; ++pe) {
    for (int length = 1; length <= kMost; ++length) {
      const char* const there = bytes + ((size_t)pe * kMost + (size_t)length - 1) * (kMost + 1);
      for (int i = 0; i <= kMost; ++i) CHECK(there[i] == (i < length ? (char)((i + pe) % 100) : (char)-1));
    }
  }
  shmem_free(bytes);
  free(source);
}

/* Nobody completes anything: what is put leaves because its PE waits. */
static void order(void) {
  long* data = shmem_calloc(3, sizeof *data);
  static long source[kRounds + 1][2];
  for (long round = 1; round <= kRounds; ++round) {
    source[round][0] = -round;
    source[round][1] = round;
    shmem_long_put_nbi(&data[0], &source[round][0], 1, next);
    shmem_fence();
    shmem_long_put_nbi(&data[1], &source[round][1], 1, next);
    shmem_wait_until(&data[1], SHMEM_CMP_GE, round);
    CHECK(data[0] <= -round);
  }
  shmem_barrier_all();
  CHECK(data[0] == -kRounds && data[1] == kRounds);
  shmem_barrier_all();
  /* A signal comes behind what was put before it. */
  static uint64_t signal;
  for (long round = 1; round <= kRounds; ++round) {
    source[round][0] = 2 * round;
    shmem_long_put_nbi(&data[0], &source[round][0], 1, next);
    shmem_fence();
    shmem_put_signal_nbi(&data[1], &source[round][1], 1, &signal, 1, SHMEM_SIGNAL_ADD, next);
    shmem_signal_wait_until(&signal, SHMEM_CMP_GE, (uint64_t)round);
    CHECK(data[0] >= 2 * round && data[1] >= round);
  }
  shmem_barrier_all();
  shmem_free(data);
}

/* A put that came again, or late, would undo what has been added since. */
static void once(void) {
  enum { kWords = 64 };
  long* words = shmem_calloc(kWords, sizeof *words);
  static const long kStart[kWords] = {0};
  for (int round = 0; round < 50; ++round) {
    for (int i = 0; i < kWords; ++i) shmem_long_put_nbi(&words[i], &kStart[i], 1, next);
    shmem_fence();
    for (int i = 0; i < kWords; ++i) shmem_long_atomic_add(&words[i], i + round, next);
    shmem_quiet();
    for (int i = 0; i < kWords; i += 9) CHECK(shmem_long_g(&words[i], next) == i + round);
  }
  shmem_barrier_all();
  for (int i = 0; i < kWords; ++i) CHECK(words[i] == i + 49);
  shmem_barrier_all();
  shmem_free(words);
}

/* Two contexts have put to the same PE. Behind the quiet of one a third PE finds there what it has put; nothing is said
   to the PE meanwhile that could take a put along. The other has to wait for its own quiet, and may come before it. */
static void contexts(void) {
  shmem_ctx_t ctx[2];
  long* words = shmem_calloc(4, sizeof *words); /* by context; how far the third PE may look; how far it has */
  static long source[kRounds + 1];
  const int witness = (me + 2) % n;
  for (int i = 0; i < 2; ++i) CHECK(shmem_ctx_create(SHMEM_CTX_SERIALIZED, &ctx[i]) == 0);
  for (long round = 1; round <= kRounds; ++round) {
    source[round] = round;
    for (int i = 0; i < 2; ++i) shmem_ctx_long_put_nbi(ctx[i], &words[i], &source[round], 1, next);
    for (int i = 1; i >= 0; --i) {
      const long step = 2 * round - i;
      shmem_ctx_quiet(ctx[i]);
      shmem_long_p(&words[2], step, witness);
      /* I am the witness of the PE two before me, and look at the one before me. */
      shmem_wait_until(&words[2], SHMEM_CMP_GE, step);
      CHECK(shmem_long_g(&words[i], before) >= round);
      shmem_long_p(&words[3], step, (me + n - 2) % n);
      shmem_wait_until(&words[3], SHMEM_CMP_GE, step);
    }
  }
  for (int i = 0; i < 2; ++i) shmem_ctx_destroy(ctx[i]);
  shmem_barrier_all();
  shmem_free(words);
}

/* A blocking put with signal: its memory is the caller's again when it returns, however long it is. */
static void reused(void) {
  enum { kLongest = 100000, kTimes = 20 };
  static char source[kLongest];
  char* data = shmem_malloc(kTimes * kLongest);
  static uint64_t signal;
  const size_t lengths[] = {1, 16, 17, 32, 512, 513, 4000, kLongest};
  for (size_t l = 0; l < sizeof lengths / sizeof *lengths; ++l) {
    shmem_barrier_all();
    signal = 0;
    shmem_barrier_all();
    for (int i = 0; i < kTimes; ++i) {
      memset(source, 10 * i % 100 + 1, lengths[l]);
      shmem_putmem_signal(data + (size_t)i * kLongest, source, lengths[l], &signal, 1, SHMEM_SIGNAL_ADD, next);
      memset(source, -1, lengths[l]);
    }
    shmem_signal_wait_until(&signal, SHMEM_CMP_EQ, kTimes);
    for (int i = 0; i < kTimes; ++i)
      for (size_t k = 0; k < lengths[l]; ++k) CHECK(data[(size_t)i * kLongest + k] == 10 * i % 100 + 1);
  }
  shmem_barrier_all();
  shmem_free(data);
}

/* What has been put, or added, comes though its PE makes no call any more. */
static void computing(int how) {
  long* words = shmem_calloc(2, sizeof *words); /* what was put; that it has come */
  static const long kOne = 1;
  if (me % 2 == 0) {
    if (how == 0) shmem_long_put_nbi(&words[0], &kOne, 1, next);
    if (how == 1) shmem_long_p(&words[0], 1, next);
    if (how == 2) shmem_long_atomic_add(&words[0], 1, next);
    while (__atomic_load_n(&words[1], __ATOMIC_ACQUIRE) == 0) {
    }
  } else {
    shmem_wait_until(&words[0], SHMEM_CMP_EQ, 1);
    shmem_long_p(&words[1], 1, before);
  }
  shmem_barrier_all();
  shmem_free(words);
}

int main(void) {
  shmem_init();
  me = shmem_my_pe();
  n = shmem_n_pes();
  next = (me + 1) % n;
  before = (me + n - 1) % n;
  many();
  sizes();
  order();
  once();
  contexts();
  reused();
  for (int how = 0; how < 3; ++how) computing(how);
  shmem_finalize();
  return 0;
}
