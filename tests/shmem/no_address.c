// SPDX-License-Identifier: BSD-3-Clause
// pes: 2
// Where no address for the heap is free in all PEs, what is allocated lies at the same place of each one's heap
// nevertheless, aligned as it was asked for.
#include <stdint.h>
#include <sys/mman.h>

#include "check.h"

enum { kMega = 1024 * 1024 };

int main(void) {
  // Something of the program's own lies at all that are tried.
  for (uintptr_t i = 0; i < 8; ++i)
    mmap((void*)(0x100000000000 + i * 0x080000000000 - kMega), 4 * kMega, PROT_NONE,
         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
  shmem_init();
  const int me = shmem_my_pe(), other = 1 - me;
  CHECK(shmem_align((size_t)1 << 40, 64) == NULL);
  for (int bit = 6; bit <= 27; ++bit) {
    int* const aligned = shmem_align((size_t)1 << bit, 4096);
    int* const small = shmem_malloc(64);
    CHECK(aligned && small && (uintptr_t)aligned % ((size_t)1 << bit) == 0);
    *aligned = *small = -1;
    shmem_barrier_all();
    const int mine = 100 * bit + me;
    shmem_int_put(aligned, &mine, 1, other);
    shmem_int_put(small, &mine, 1, other);
    shmem_barrier_all();
    CHECK(*aligned == 100 * bit + other && *small == 100 * bit + other);
  }
  shmem_finalize();
  return 0;
}
