// SPDX-License-Identifier: BSD-3-Clause
// pes: 2
// fails with: shmem_pe_quiet on PE 0: there is no PE 2 .there are 0..1.
#include <shmem.h>

int main(void) {
  shmem_init();
  const int pes[] = {0, 2};
  if (shmem_my_pe() == 0) shmem_pe_quiet(pes, 2);
  shmem_barrier_all();
  shmem_finalize();
  return 0;
}
