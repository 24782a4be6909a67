// SPDX-License-Identifier: BSD-3-Clause
// Atomic operations: work that is drawn, not dealt. PEs draw numbers by fetch-and-add, count primes, add up what they
// have found, and keep the largest by compare-and-swap.
//   rmqrun -n 4 shmem_atomics [numbers]
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>

static long next = 2, found, largest;

static int is_prime(long n) {
  for (long d = 2; d * d <= n; ++d)
    if (n % d == 0) return 0;
  return 1;
}

int main(int argc, char** argv) {
  shmem_init();
  const long numbers = argc > 1 ? atol(argv[1]) : 10000;
  enum { kBatch = 100 };

  long mine = 0, top = 0;
  for (long from; (from = shmem_long_atomic_fetch_add(&next, kBatch, 0)) < numbers;) {
    for (long n = from; n < from + kBatch && n < numbers; ++n)
      if (is_prime(n)) ++mine, top = n;
  }
  shmem_long_atomic_add(&found, mine, 0);
  for (long seen = shmem_long_atomic_fetch(&largest, 0); seen < top;) {
    const long before = shmem_long_atomic_compare_swap(&largest, seen, top, 0);
    if (before == seen) break;
    seen = before;
  }
  shmem_barrier_all();
  if (shmem_my_pe() == 0) printf("%ld primes below %ld, the largest is %ld\n", found, numbers, largest);
  shmem_finalize();
  return 0;
}
