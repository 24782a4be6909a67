// SPDX-License-Identifier: BSD-3-Clause
// Start-up: who is who, whose memory is within reach of loads and stores, and the end without a word.
//   rmqrun -n 4 shmem_startup
#include <shmem.h>
#include <stdio.h>

int main(void) {
  start_pes(0); /* the old name of shmem_init() */
  const int world_rank = shmem_my_pe(), world_size = shmem_n_pes();

  static int greeted; /* every static variable is symmetric */
  shmem_int_p(&greeted, world_rank + 1, (world_rank + 1) % world_size);
  shmem_barrier_all();

  int near = 0;
  for (int pe = 0; pe < world_size; ++pe) near += shmem_ptr(&greeted, pe) != NULL;
  const int right = greeted == (world_rank + world_size - 1) % world_size + 1;
  if (world_rank == 0)
    printf("%d PEs, %d of them reached by loads and stores: %s\n", world_size, near, right ? "right" : "WRONG");
  return right ? 0 : 1; /* the last of SHMEM is done at exit */
}
