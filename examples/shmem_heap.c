// SPDX-License-Identifier: BSD-3-Clause
// The symmetric heap: what all PEs allocate together lies at the same address everywhere, so an address is all that is
// told of another PE's memory. A list that is made of such addresses is walked from PE to PE.
//   rmqrun -n 4 shmem_heap
#include <shmem.h>
#include <stdio.h>

typedef struct {
  long value;
  void* next; /* on the next PE */
} Node;

int main(void) {
  shmem_init();
  const int me = shmem_my_pe(), n = shmem_n_pes();

  Node* nodes[3];
  for (int i = 0; i < 3; ++i) nodes[i] = shmem_malloc(sizeof(Node));
  for (int i = 0; i < 3; ++i) *nodes[i] = (Node){.value = 10 * me + i, .next = nodes[(i + 1) % 3]};
  shmem_barrier_all();

  long sum = 0;
  Node at;
  void* address = nodes[0];
  for (int pe = 0; pe < n; ++pe) {
    shmem_getmem(&at, address, sizeof at, pe);
    sum += at.value;
    address = at.next;
  }
  long expected = 0;
  for (int pe = 0; pe < n; ++pe) expected += 10 * pe + pe % 3;
  shmem_barrier_all();

  double* grown = shmem_calloc(10, sizeof *grown);
  grown[9] = me;
  grown = shmem_realloc(grown, 10000 * sizeof *grown);
  const int right = sum == expected && grown[9] == me;
  shmem_free(grown);
  for (int i = 0; i < 3; ++i) shmem_free(nodes[i]);
  if (me == 0) printf("a list over %d PEs has the sum %ld: %s\n", n, sum, right ? "right" : "WRONG");
  shmem_finalize();
  return right ? 0 : 1;
}
