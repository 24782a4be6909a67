// SPDX-License-Identifier: BSD-3-Clause
// Synchronisation: a pipeline. A PE waits for its block and the flag behind it, which a fence keeps in order, works on
// it, and passes it on; the signal of the last one says how far all is.
//   rmqrun -n 4 shmem_sync
#include <shmem.h>
#include <stdio.h>

enum { kBlock = 256, kBlocks = 100 };

static long block[kBlocks][kBlock], flag[kBlocks];
static uint64_t done;

int main(void) {
  shmem_init();
  const int me = shmem_my_pe(), n = shmem_n_pes();

  for (int b = 0; b < kBlocks; ++b) {
    if (me > 0) shmem_long_wait_until(&flag[b], SHMEM_CMP_EQ, 1);
    for (int i = 0; i < kBlock; ++i) block[b][i] += (me + 1) * i;
    if (me < n - 1) {
      shmem_long_put(block[b], block[b], kBlock, me + 1);
      shmem_fence(); /* the flag is seen behind the block: nobody waits for either */
      shmem_long_p(&flag[b], 1, me + 1);
    } else {
      shmem_long_put_signal(block[b], block[b], kBlock, &done, 1, SHMEM_SIGNAL_ADD, 0);
    }
  }
  int right = 1;
  if (me == 0) {
    shmem_signal_wait_until(&done, SHMEM_CMP_EQ, kBlocks);
    for (int b = 0; b < kBlocks; ++b)
      for (int i = 0; i < kBlock; ++i) right = right && block[b][i] == (long)n * (n + 1) / 2 * i;
    printf("%d blocks through %d PEs: %s\n", kBlocks, n, right ? "right" : "WRONG");
  }
  shmem_finalize();
  return !right;
}
