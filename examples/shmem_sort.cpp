// SPDX-License-Identifier: BSD-3-Clause
// A program on the little SHMEM: ranks scatter random numbers into buckets that lie on the pe they belong to (a counter
// and an array each, filled by atomic counts and puts), sort their own, and check the seams with their neighbours.
//   rmqrun -n 4 shmem_sort [numbers per pe]
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <random>

#include "little_shmem.hpp"

int main(int argc, char** argv) {
  start_pes(0);
  const int me = shmem_my_pe(), pes = shmem_n_pes();
  const long numbers = argc > 1 ? std::atol(argv[1]) : 1000;
  const long room = numbers * 3 + 64;  // of a bucket: three times what it holds on average
  constexpr long kRange = 1 << 20;

  auto* count = static_cast<long*>(shmalloc(sizeof(long)));
  auto* bucket = static_cast<long*>(shmalloc(static_cast<std::size_t>(room) * sizeof(long)));
  auto* total = static_cast<long*>(shmalloc(sizeof(long)));
  auto* wrong = static_cast<long*>(shmalloc(sizeof(long)));
  *count = *total = *wrong = 0;
  shmem_barrier_all();

  std::mt19937 random(static_cast<unsigned>(me));
  for (long i = 0; i < numbers; ++i) {
    const long number = static_cast<long>(random() % kRange);
    const int pe = static_cast<int>(number * pes / kRange);
    const long place = shmem_long_fadd(count, 1, pe);
    if (place < room) shmem_long_p(bucket + place, number, pe);
  }
  shmem_barrier_all();

  std::sort(bucket, bucket + *count);
  shmem_long_fadd(total, *count, 0);
  const bool full = *count > room;
  shmem_barrier_all();
  const bool has_next = me + 1 < pes && *count > 0 && shmem_long_g(count, me + 1) > 0;
  if (full || (has_next && bucket[*count - 1] > shmem_long_g(bucket, me + 1))) shmem_long_swap(wrong, 1, 0);
  shmem_barrier_all();

  bool right = true;
  if (me == 0) {
    right = *total == numbers * pes && shmem_long_cswap(wrong, 0, 0, 0) == 0;
    std::printf("%ld numbers sorted on %d pes: %s\n", *total, pes, right ? "right" : "WRONG");
  }
  shmem_finalize();
  return right ? 0 : 1;
}
