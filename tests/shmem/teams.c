// SPDX-License-Identifier: BSD-3-Clause
// pes: 4
// Teams, their collectives, and those of active sets.
#include <stdlib.h>
#include <string.h>

#include "check.h"

static long in[8], out[64], psync[SHMEM_SYNC_SIZE], work[8];
static double _Complex z_in, z_out;
static unsigned char u8_in[2], u8_out[2];

static void collectives(shmem_team_t team) {
  const int me = shmem_team_my_pe(team), n = shmem_team_n_pes(team);
  for (int i = 0; i < 8; ++i) in[i] = 10 * me + i;
  CHECK(shmem_broadcast(team, out, in, 8, n - 1) == 0);
  for (int i = 0; i < 8; ++i) CHECK(out[i] == 10 * (n - 1) + i);
  CHECK(shmem_fcollect(team, out, in, 2) == 0);
  for (int i = 0; i < n; ++i) CHECK(out[2 * i] == 10 * i && out[2 * i + 1] == 10 * i + 1);
  CHECK(shmem_collect(team, out, in, (size_t)me) == 0); /* 0, 1, 2, … elements */
  for (int i = 0, at = 0; i < n; ++i)
    for (int k = 0; k < i; ++k) CHECK(out[at++] == 10 * i + k);
  for (int i = 0; i < n; ++i) in[i] = 100 * me + i;
  CHECK(shmem_alltoall(team, out, in, 1) == 0);
  for (int i = 0; i < n; ++i) CHECK(out[i] == 100 * i + me);
  memset(out, 0, sizeof out);
  CHECK(shmem_alltoalls(team, out, in, 2, 1, 1) == 0);
  for (int i = 0; i < n; ++i) CHECK(out[2 * i] == 100 * i + me && out[2 * i + 1] == 0);
  in[0] = me + 1, in[1] = -me;
  CHECK(shmem_sum_reduce(team, out, in, 2) == 0);
  CHECK(out[0] == n * (n + 1) / 2 && out[1] == -(n - 1) * n / 2);
  CHECK(shmem_min_reduce(team, in, in, 2) == 0); /* in place */
  CHECK(in[0] == 1 && in[1] == -(n - 1));
  for (int i = 0; i < 8; ++i) in[i] = me + i;
  CHECK(shmem_sum_inscan(team, out, in, 3) == 0);
  for (int i = 0; i < 3; ++i) CHECK(out[i] == me * (me + 1) / 2 + (me + 1) * i);
  out[3] = -5;
  CHECK(shmem_sum_exscan(team, out, in, 3) == 0 && out[3] == -5);
  for (int i = 0; i < 3; ++i) CHECK(out[i] == me * (me - 1) / 2 + me * i);
  CHECK(shmem_long_sum_exscan(team, in, in, 8) == 0); /* in place */
  for (int i = 0; i < 8; ++i) CHECK(in[i] == me * (me - 1) / 2 + me * i);
  z_in = me + 1 + 0.5 * __extension__ 1.0i;
  CHECK(shmem_sum_inscan(team, &z_out, &z_in, 1) == 0);
  CHECK(z_out == (me + 1) * (me + 2) / 2 + (me + 1) * 0.5 * __extension__ 1.0i);
  CHECK(shmem_complexd_sum_exscan(team, &z_out, &z_in, 1) == 0);
  CHECK(z_out == me * (me + 1) / 2 + me * 0.5 * __extension__ 1.0i);
  CHECK(shmem_prod_reduce(team, &z_out, &z_in, 1) == 0);
  u8_in[0] = (unsigned char)(1 << me);
  CHECK(shmem_or_reduce(team, u8_out, u8_in, 1) == 0 && u8_out[0] == (1 << n) - 1);
  CHECK(shmem_team_sync(team) == 0);
}

static void active_set(int start, int log_stride, int size) {
  const int me = (shmem_my_pe() - start) >> log_stride;
  for (int i = 0; i < 4; ++i) in[i] = 7 * me + i;
  out[0] = -1;
  shmem_broadcast64(out, in, 4, 0, start, log_stride, size, psync);
  CHECK(me == 0 ? out[0] == -1 : out[3] == 3);
  shmem_barrier(start, log_stride, size, psync);
  shmem_long_sum_to_all(out, in, 2, start, log_stride, size, work, psync);
  CHECK(out[1] == 7 * size * (size - 1) / 2 + size);
  shmem_fcollect64(out, in, 1, start, log_stride, size, psync);
  for (int i = 0; i < size; ++i) CHECK(out[i] == 7 * i);
  shmem_sync(start, log_stride, size, psync);
}

int main(void) {
  shmem_init();
  const int me = shmem_my_pe(), n = shmem_n_pes();
  collectives(SHMEM_TEAM_WORLD);
  shmem_team_t even, x, y;
  shmem_team_config_t config = {3};
  CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 2, (n + 1) / 2, &config, SHMEM_TEAM_NUM_CONTEXTS, &even) == 0);
  CHECK((even != SHMEM_TEAM_INVALID) == (me % 2 == 0));
  if (even != SHMEM_TEAM_INVALID) {
    config.num_contexts = 0;
    CHECK(shmem_team_get_config(even, SHMEM_TEAM_NUM_CONTEXTS, &config) == 0 && config.num_contexts == 3);
    CHECK(shmem_team_my_pe(even) == me / 2 && shmem_team_translate_pe(even, 1, SHMEM_TEAM_WORLD) == 2);
    collectives(even);
    shmem_team_destroy(even);
  }
  CHECK(shmem_team_translate_pe(SHMEM_TEAM_WORLD, n, SHMEM_TEAM_WORLD) == -1);
  CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, 1, 1, n, NULL, 0, &x) != 0 && x == SHMEM_TEAM_INVALID);
  config.num_contexts = 3;
  const shmem_team_config_t other = {5};
  CHECK(shmem_team_split_2d(SHMEM_TEAM_WORLD, 3, &config, 0, &x, &other, SHMEM_TEAM_NUM_CONTEXTS, &y) == 0);
  CHECK(shmem_team_get_config(x, SHMEM_TEAM_NUM_CONTEXTS, &config) == 0 &&
        config.num_contexts == 0); /* not in the mask */
  CHECK(shmem_team_get_config(y, SHMEM_TEAM_NUM_CONTEXTS, &config) == 0 && config.num_contexts == 5);
  CHECK(shmem_team_n_pes(x) == (me < 3 ? 3 : 1) && shmem_team_my_pe(y) == me / 3);
  collectives(x);
  collectives(y);
  const int shared = shmem_team_n_pes(SHMEM_TEAM_SHARED);
  for (int i = 0; i < shared; ++i)
    CHECK(shmem_ptr(in, shmem_team_translate_pe(SHMEM_TEAM_SHARED, i, SHMEM_TEAM_WORLD)));
  active_set(0, 0, n);
  if (me % 2 == 1) active_set(1, 1, 2);
  if (me >= 2) active_set(2, 0, 2);
  active_set(0, 0, n);
  if (me % 2 == 1) active_set(1, 1, 2); /* again */
  shmem_finalize();
  return 0;
}
