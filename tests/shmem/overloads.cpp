// SPDX-License-Identifier: BSD-3-Clause
// pes: 2
// C++: overloads instead of generic selection, complex numbers, threads.
#include <thread>
#include <vector>

#include "check.h"

static double value;
static std::complex<double> z, z_sum;
static long total, per_thread[4];
static short blocks[4];
static uint64_t signal_word;

int main() {
  int level = -1;
  CHECK(shmem_init_thread(SHMEM_THREAD_MULTIPLE, &level) == 0 && level == SHMEM_THREAD_MULTIPLE);
  const int me = shmem_my_pe(), n = shmem_n_pes(), next = (me + 1) % n;
  const double mine = 1.5 + me;
  shmem_put(&value, &mine, 1, next);
  shmem_barrier_all();
  CHECK(shmem_g(&value, next) == mine && shmem_atomic_fetch(&value, next) == mine);
  z = {1.0, static_cast<double>(me)};
  CHECK(shmem_sum_reduce(SHMEM_TEAM_WORLD, &z_sum, &z, 1) == 0);
  CHECK(z_sum == std::complex<double>(n, n * (n - 1) / 2.0));
  CHECK(shmem_sum_inscan(SHMEM_TEAM_WORLD, &z_sum, &z, 1) == 0);
  CHECK(z_sum == std::complex<double>(me + 1, me * (me + 1) / 2.0));
  CHECK(shmem_sum_exscan(SHMEM_TEAM_WORLD, &z_sum, &z, 1) == 0);
  CHECK(z_sum == std::complex<double>(me, me * (me - 1) / 2.0));
  const short pairs[6] = {1, 2, 0, 0, 3, 4};
  shmem_ibput(blocks, pairs, 2, 4, 2, 2, next);
  shmem_signal_add(&signal_word, 1, next);
  shmem_signal_add(SHMEM_CTX_DEFAULT, &signal_word, 2, next);
  shmem_signal_wait_until(&signal_word, SHMEM_CMP_EQ, 3);
  shmem_barrier_all();
  for (short i = 0; i < 4; ++i) CHECK(blocks[i] == i + 1);
  short got[4] = {};
  shmem_ibget(SHMEM_CTX_DEFAULT, got, blocks, 3, 2, 1, 2, next);
  CHECK(got[0] == 1 && got[1] == 0 && got[3] == 3);
  shmem_signal_set(SHMEM_CTX_DEFAULT, &signal_word, 9, next);
  shmem_signal_wait_until(&signal_word, SHMEM_CMP_EQ, 9);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([t, next] {
      shmem_ctx_t ctx;
      CHECK(shmem_ctx_create(SHMEM_CTX_PRIVATE, &ctx) == 0);
      for (int i = 0; i < 100; ++i) {
        shmem_atomic_add(ctx, &total, 1L, next);
        shmem_atomic_fetch_add(ctx, &total, 1L, 0);
      }
      shmem_p(ctx, &per_thread[t], t + 1L, next);
      shmem_ctx_quiet(ctx);
      shmem_ctx_destroy(ctx);
    });
  }
  for (long t = 0; t < 4; ++t) shmem_wait_until(&per_thread[t], SHMEM_CMP_EQ, t + 1);
  for (auto& t : threads) t.join();
  shmem_barrier_all();
  CHECK(total == 400 + (me == 0 ? 400 * n : 0));
  shmem_finalize();
}
