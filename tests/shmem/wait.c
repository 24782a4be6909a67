// SPDX-License-Identifier: BSD-3-Clause
// pes: 4
// Waiting in all its forms, until long after the waiter has fallen asleep; locks.
#include <time.h>

#include "check.h"

enum { kFlags = 6 };

static long flags[kFlags];
static int ready[4];
static long lock, guarded, tries;
static short little;

static void long_enough_to_sleep(void) {
  const struct timespec t = {0, 20 * 1000 * 1000};
  nanosleep(&t, NULL);
}

/* Each PE sets the flags of the next one, late. */
static void set_late(int next) {
  long_enough_to_sleep();
  for (long i = 0; i < kFlags; ++i) shmem_p(&flags[i], i + 1, next);
}

int main(void) {
  shmem_init();
  const int me = shmem_my_pe(), n = shmem_n_pes(), next = (me + 1) % n;
  const int but_two[kFlags] = {0, 0, 1, 0, 0, 0};
  long values[kFlags] = {1, 2, 99, 4, 5, 6};
  size_t found[kFlags];
  for (int turn = 0; turn < 3; ++turn) {
    for (int i = 0; i < kFlags; ++i) flags[i] = 0;
    shmem_barrier_all();
    if (me % 2 == 0) set_late(next);
    if (turn == 0) {
      shmem_wait_until_all_vector(flags, kFlags, but_two, SHMEM_CMP_EQ, values);
      CHECK(flags[5] == 6 && shmem_test_all(flags, kFlags, but_two, SHMEM_CMP_NE, 0L));
    } else if (turn == 1) {
      const size_t one = shmem_wait_until_any(flags, kFlags, NULL, SHMEM_CMP_GT, 3L);
      CHECK(one >= 3 && one < kFlags && flags[one] == (long)one + 1);
    } else {
      size_t left = kFlags;
      int had[kFlags] = {0};
      while (left > 0) {
        const size_t some = shmem_wait_until_some(flags, kFlags, found, had, SHMEM_CMP_NE, 0L);
        CHECK(some > 0 && some <= left);
        for (size_t i = 0; i < some; ++i) had[found[i]] = 1;
        left -= some;
      }
      CHECK(shmem_wait_until_some(flags, kFlags, found, had, SHMEM_CMP_NE, 0L) == 0);
      CHECK(shmem_wait_until_any(flags, kFlags, had, SHMEM_CMP_NE, 0L) == SIZE_MAX);
    }
    if (me % 2 == 1) set_late(next);
    shmem_barrier_all();
  }
  CHECK(shmem_test_any(flags, kFlags, NULL, SHMEM_CMP_EQ, 12345L) == SIZE_MAX);
  CHECK(shmem_test_some(flags, kFlags, found, NULL, SHMEM_CMP_LE, 2L) == 2 && found[1] == 1);
  /* Of words that are all there each has its turn. */
  int seen[kFlags] = {0};
  for (int i = 0; i < kFlags; ++i) ++seen[shmem_test_any(flags, kFlags, NULL, SHMEM_CMP_NE, 0L)];
  for (int i = 0; i < kFlags; ++i) CHECK(seen[i] == 1);
  /* By an atomic operation and by a get that another PE makes of what was set here: tests in a loop. */
  shmem_atomic_inc(&ready[0], next);
  while (!shmem_test(&ready[0], SHMEM_CMP_EQ, 1)) continue;
  shmem_short_p(&little, 3, next);
  shmem_wait_until(&little, SHMEM_CMP_EQ, (short)3);
  /* The lock goes around; whoever has it is alone. */
  for (int i = 0; i < 40; ++i) {
    shmem_set_lock(&lock);
    const long v = shmem_g(&guarded, 0);
    shmem_p(&guarded, v + 1, 0);
    shmem_clear_lock(&lock);
  }
  for (int i = 0; i < 10; ++i) {
    while (shmem_test_lock(&lock) != 0) shmem_atomic_inc(&tries, 0);
    shmem_p(&guarded, shmem_g(&guarded, 0) + 1, 0);
    shmem_clear_lock(&lock);
  }
  shmem_barrier_all();
  CHECK(shmem_g(&guarded, 0) == 50L * n);
  shmem_finalize();
  return 0;
}
