// SPDX-License-Identifier: BSD-3-Clause
// pes: 5
// Collectives of long data, around the lengths at which members begin to reach into each other's memory; of some PEs of
// a host, of all, and of both hosts; in place, from memory that nobody can map, and with nothing from some.
#include <stdlib.h>
#include <string.h>

#include "check.h"

enum { MOST = 40000, PES = 5 };
static int static_out[MOST * PES];
static int *in, *out, *own;

static int value(int pe, size_t i) {
  return pe * 1000003 + (int)i * 7;
}
static void fill(int* at, size_t n, int pe) {
  for (size_t i = 0; i < n; ++i) at[i] = value(pe, i);
}

static void collectives(shmem_team_t team, const int* source, int* dest, size_t n) {
  const int me = shmem_team_my_pe(team), pes = shmem_team_n_pes(team);
  int* const from = (int*)source;
  for (int root = 0; root < pes; root += 2) {
    fill(from, n, me);
    memset(dest, 0, n * sizeof *dest);
    CHECK(shmem_int_broadcast(team, dest, source, n, root) == 0);
    memset(from, 9, n * sizeof *from); /* the others have what they need */
    for (size_t i = 0; i < n; ++i) CHECK(dest[i] == value(root, i));
  }
  fill(from, n, me);
  CHECK(shmem_int_fcollect(team, dest, source, n) == 0);
  memset(from, 9, n * sizeof *from);
  for (int pe = 0; pe < pes; ++pe)
    for (size_t i = 0; i < n; ++i) CHECK(dest[pe * n + i] == value(pe, i));

  fill(from, n, me);
  const size_t mine = me == 1 ? 0 : n - (size_t)me;
  CHECK(shmem_int_collect(team, dest, source, mine) == 0);
  memset(from, 9, n * sizeof *from);
  size_t at = 0;
  for (int pe = 0; pe < pes; ++pe)
    for (size_t i = 0, of = pe == 1 ? 0 : n - (size_t)pe; i < of; ++i, ++at) CHECK(dest[at] == value(pe, i));

  const size_t each = n / (size_t)pes;
  fill(from, each * (size_t)pes, me);
  CHECK(shmem_int_alltoall(team, dest, source, each) == 0);
  memset(from, 9, n * sizeof *from);
  for (int pe = 0; pe < pes; ++pe)
    for (size_t i = 0; i < each; ++i) CHECK(dest[pe * each + i] == value(pe, (size_t)me * each + i));

  for (int in_place = 0; in_place < 2; ++in_place) {
    int* const to = in_place && source != own ? from : dest;
    fill(from, n, me);
    CHECK(shmem_int_sum_reduce(team, to, source, n) == 0);
    for (size_t i = 0; i < n; ++i) CHECK(to[i] == value(pes * (pes - 1) / 2, 0) + pes * (int)i * 7);
    fill(from, n, me);
    CHECK(shmem_int_max_reduce(team, to, source, n) == 0);
    for (size_t i = 0; i < n; ++i) CHECK(to[i] == value(pes - 1, i));
    fill(from, n, me);
    CHECK(shmem_int_sum_inscan(team, to, source, n) == 0);
    for (size_t i = 0; i < n; ++i) CHECK(to[i] == value(me * (me + 1) / 2, 0) + (me + 1) * (int)i * 7);
    fill(from, n, me);
    CHECK(shmem_int_sum_exscan(team, to, source, n) == 0);
    for (size_t i = 0; i < n; ++i) CHECK(to[i] == value(me * (me - 1) / 2, 0) + me * (int)i * 7);
  }
}

/* The source of each stands at its place in the destination already. */
static void in_place(void) {
  enum { kEach = 5000 };
  const int me = shmem_my_pe();
  fill(out + (size_t)me * kEach, kEach, me);
  CHECK(shmem_int_fcollect(SHMEM_TEAM_WORLD, out, out + (size_t)me * kEach, kEach) == 0);
  for (int pe = 0; pe < PES; ++pe)
    for (size_t i = 0; i < kEach; ++i) CHECK(out[(size_t)pe * kEach + i] == value(pe, i));
}

int main(void) {
  shmem_init();
  const int me = shmem_my_pe(), pes = shmem_n_pes();
  CHECK(pes == PES);
  in = shmem_malloc(MOST * sizeof *in);
  out = shmem_malloc((size_t)MOST * PES * sizeof *out);
  own = malloc(MOST * sizeof *own); /* not symmetric: RMQ takes it as a source all the same */
  shmem_team_t first, last;
  CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 2, 3, NULL, 0, &first) == 0);
  CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, 3, 1, 2, NULL, 0, &last) == 0);
  const size_t sizes[] = {0, 1, 409, 410, 2047, 2048, 2049, 4096, 4100, 10245, MOST};
  for (size_t s = 0; s < sizeof sizes / sizeof *sizes; ++s) {
    if (sizes[s] < PES) continue;
    const shmem_team_t teams[] = {SHMEM_TEAM_WORLD, SHMEM_TEAM_SHARED, first, last};
    for (int t = 0; t < 4; ++t) {
      if (teams[t] == SHMEM_TEAM_INVALID) continue;
      collectives(teams[t], in, out, sizes[s]);
      collectives(teams[t], in, static_out, sizes[s]);
      /* From a memory of its own some PEs only. */
      const int* const source = me % 2 ? own : in;
      collectives(teams[t], source, out, sizes[s]);
    }
  }
  shmem_barrier_all();
  in_place();
  free(own);
  shmem_finalize();
  return 0;
}
