// SPDX-License-Identifier: BSD-3-Clause
// pes: 4
// options: -x SHMEM_SYMMETRIC_SIZE=8m -x SHMEM_DEBUG=1
// The symmetric heap: alike in all PEs, full, freed, grown in place and moved; with MPI in the same program.
#include <mpi.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

static void* pointer;
static int mine = 1;

/* A child that is forked has data of its own. */
static void fork_one(void) {
  const pid_t child = fork();
  if (child == 0) {
    const int was = mine;
    mine = 2;
    _exit(was == 1 ? 0 : 1);
  }
  int status = -1;
  CHECK(waitpid(child, &status, 0) == child && status == 0 && mine == 1);
}

int main(void) {
  shmem_init();
  const int me = shmem_my_pe(), n = shmem_n_pes();
  CHECK(shmem_malloc(0) == NULL && shmem_malloc((size_t)9 << 20) == NULL);
  void* blocks[16];
  for (int i = 0; i < 16; ++i) {
    blocks[i] = shmem_malloc((size_t)100 + 5000 * i);
    pointer = blocks[i];
    shmem_sync_all();
    CHECK(shmem_g((uintptr_t*)&pointer, (me + 1) % n) == (uintptr_t)blocks[i]); /* one address */
    shmem_sync_all();
  }
  for (int i = 0; i < 16; i += 2) shmem_free(blocks[i]);
  char* aligned = shmem_align(4096, 100);
  CHECK((uintptr_t)aligned % 4096 == 0);
  int* zeros = shmem_calloc(1000, sizeof *zeros);
  for (int i = 0; i < 1000; ++i) CHECK(zeros[i] == 0);
  zeros[999] = me;
  zeros = shmem_realloc(zeros, 3 << 20);
  CHECK(zeros && zeros[999] == me);
  zeros = shmem_realloc(zeros, 4000);
  CHECK(zeros[999] == me);
  shmem_free(zeros);
  shmem_free(aligned);
  for (int i = 1; i < 16; i += 2) shmem_free(blocks[i]);
  char* all = shmem_malloc((size_t)8 << 20); /* nothing is lost */
  CHECK(all);
  all[((size_t)8 << 20) - 1] = 1;
  shmem_free(all);
  shmem_free(NULL);
  fork_one();
  /* MPI begins later and ends earlier. */
  MPI_Init(NULL, NULL);
  int rank = -1, sum = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  CHECK(rank == me);
  long* word = shmem_calloc(1, sizeof *word);
  shmem_atomic_add(word, 1L + me, 0);
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  CHECK(sum == n * (n - 1) / 2);
  MPI_Finalize();
  shmem_barrier_all();
  CHECK(shmem_g(word, 0) == n * (n + 1) / 2);
  return 0; /* without shmem_finalize */
}
