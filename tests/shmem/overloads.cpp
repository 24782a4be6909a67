// pes: 2
// C++: overloads instead of generic selection, complex numbers, threads.
#include <thread>
#include <vector>

#include "check.h"

static double value;
static std::complex<double> z, z_sum;
static long total, per_thread[4];

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
