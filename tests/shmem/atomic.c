// SPDX-License-Identifier: BSD-3-Clause
// pes: 4
// Atomic operations: what all PEs do to the same words at the same time is all counted, whoever reaches them how.
#include "check.h"

enum { kTimes = 300 };

static int counter;
static long sum, slots[64];
static uint64_t bits;
static double real;
static unsigned masks[3] = {~0u, 0, 0};

int main(void) {
  shmem_init();
  const int me = shmem_my_pe(), n = shmem_n_pes();
  long* heap = shmem_calloc(2, sizeof *heap);
  /* All on one PE: near for some, far for others. */
  const int home = n - 1;
  long drawn = 0;
  for (int i = 0; i < kTimes; ++i) {
    const int ticket = shmem_atomic_fetch_inc(&counter, home);
    CHECK(ticket >= 0 && ticket < kTimes * n);
    drawn += ticket;
    shmem_atomic_add(&heap[0], 2L, home);
    shmem_long_atomic_inc(&heap[1], home);
  }
  shmem_atomic_add(&sum, drawn, 0);
  shmem_atomic_or(&bits, (uint64_t)1 << (me + 32), home);
  shmem_atomic_xor(&bits, (uint64_t)1 << me, home);
  shmem_atomic_and(&masks[0], ~(1u << me), home);
  shmem_barrier_all();
  const long all = (long)kTimes * n;
  CHECK(shmem_g(&sum, 0) == all * (all - 1) / 2);
  CHECK(shmem_atomic_fetch(&heap[0], home) == 2 * all && shmem_atomic_fetch(&heap[1], home) == all);
  CHECK(shmem_atomic_fetch(&bits, home) == ((((uint64_t)1 << n) - 1) << 32 | (((uint64_t)1 << n) - 1)));
  CHECK(shmem_atomic_fetch_or(&masks[0], 0u, home) == (~0u << n));
  shmem_barrier_all();
  /* compare_swap: of all PEs one wins; a lock made of it. */
  const long won = shmem_atomic_compare_swap(&slots[0], 0L, me + 1L, home) == 0;
  shmem_atomic_add(&slots[1], won, home);
  for (int i = 0; i < 50; ++i) {
    while (shmem_atomic_compare_swap(&slots[2], 0L, 1L, home) != 0) continue;
    const long v = shmem_g(&slots[3], home);
    shmem_p(&slots[3], v + 1, home);
    shmem_quiet();
    shmem_atomic_set(&slots[2], 0L, home);
  }
  shmem_barrier_all();
  CHECK(shmem_g(&slots[1], home) == 1 && shmem_g(&slots[3], home) == 50L * n);
  /* Without waiting; on real numbers; old names. */
  long before = -1, swapped = -1;
  shmem_atomic_fetch_add_nbi(&before, &slots[10 + me], 5L, home);
  shmem_quiet();
  CHECK(before == 0);
  shmem_atomic_swap_nbi(&swapped, &slots[10 + me], 9L, home);
  shmem_quiet();
  CHECK(swapped == 5 && shmem_long_fadd(&slots[10 + me], 1, home) == 9);
  CHECK(shmem_long_cswap(&slots[10 + me], 10, 11, home) == 10 && shmem_long_swap(&slots[10 + me], 0, home) == 11);
  if (me == 0) shmem_atomic_set(&real, 2.5, home);
  shmem_barrier_all();
  CHECK(shmem_atomic_fetch(&real, home) == 2.5);
  shmem_barrier_all();
  if (me == 1) CHECK(shmem_double_atomic_swap(&real, -1.0, home) == 2.5);
  shmem_free(heap);
  shmem_finalize();
  return 0;
}
