/* SPDX-License-Identifier: BSD-3-Clause */
/* The benchmark's remote memory access: rank 0 works on a window of rank 1 from MPI_Win_allocate, rank 1 waits in MPI.
 * Microseconds an operation, synchronisation included; put_bandwidth in GB/s, idle_window in percent. */
#include <string.h>

#include "bench.h"

static MPI_Win window;

static void put_flush(int bytes, int n) {
  for (int i = 0; i < n && bench_rank == 0; ++i) {
    MPI_Put(bench_out, bytes, MPI_BYTE, 1, 0, bytes, MPI_BYTE, window);
    MPI_Win_flush(1, window);
  }
}
static void get_flush(int bytes, int n) {
  for (int i = 0; i < n && bench_rank == 0; ++i) {
    MPI_Get(bench_in, bytes, MPI_BYTE, 1, 0, bytes, MPI_BYTE, window);
    MPI_Win_flush(1, window);
  }
}
static void acc_flush(int bytes, int n) {
  for (int i = 0; i < n && bench_rank == 0; ++i) {
    if (bytes == 8) {
      MPI_Accumulate(bench_out, 1, MPI_LONG, 1, 0, 1, MPI_LONG, MPI_SUM, window);
    } else {
      MPI_Accumulate(bench_out, bytes / 8, MPI_DOUBLE, 1, 0, bytes / 8, MPI_DOUBLE, MPI_SUM, window);
    }
    MPI_Win_flush(1, window);
  }
}
static void fetch_and_op(int bytes, int n) {
  (void)bytes;
  for (int i = 0; i < n && bench_rank == 0; ++i) {
    MPI_Fetch_and_op(bench_out, bench_in, MPI_LONG, 1, 0, MPI_SUM, window);
    MPI_Win_flush(1, window);
  }
}
static void cas(int bytes, int n) {
  (void)bytes;
  for (int i = 0; i < n && bench_rank == 0; ++i) {
    MPI_Compare_and_swap(bench_out, bench_out + 8, bench_in, MPI_LONG, 1, 0, window);
    MPI_Win_flush(1, window);
  }
}
static void lock_put_unlock(int bytes, int n) {
  for (int i = 0; i < n && bench_rank == 0; ++i) {
    MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, window);
    MPI_Put(bench_out, bytes, MPI_BYTE, 1, 0, bytes, MPI_BYTE, window);
    MPI_Win_unlock(1, window);
  }
}
static void fence_put(int bytes, int n) {
  MPI_Win_fence(0, window);
  for (int i = 0; i < n; ++i) {
    if (bench_rank == 0) MPI_Put(bench_out, bytes, MPI_BYTE, 1, 0, bytes, MPI_BYTE, window);
    MPI_Win_fence(0, window);
  }
  MPI_Win_fence(MPI_MODE_NOSUCCEED, window);
}
static void pscw_put(int bytes, int n) {
  MPI_Group world, peer;
  const int other = !bench_rank;
  if (bench_rank > 1) return;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_incl(world, 1, &other, &peer);
  for (int i = 0; i < n; ++i) {
    if (bench_rank == 0) {
      MPI_Win_start(peer, 0, window);
      MPI_Put(bench_out, bytes, MPI_BYTE, 1, 0, bytes, MPI_BYTE, window);
      MPI_Win_complete(window);
    } else {
      MPI_Win_post(peer, 0, window);
      MPI_Win_wait(window);
    }
  }
  MPI_Group_free(&peer);
  MPI_Group_free(&world);
}
/* What a put of so many bytes cannot beat: memcpy into memory of the process itself. */
static char* own;
static void plain_copy(int bytes, int n) {
  for (int i = 0; i < n && bench_rank == 0; ++i) memcpy(own, bench_out, (size_t)bytes);
}
static void put_stream(int bytes, int n) {
  for (int i = 0; i < n && bench_rank == 0; ++i) {
    for (int w = 0; w < WINDOW; ++w) MPI_Put(bench_out, bytes, MPI_BYTE, 1, 0, bytes, MPI_BYTE, window);
    MPI_Win_flush(1, window);
  }
}

/* put_flush while rank 1 computes and calls no MPI function, until it sees in its memory that rank 0 is done. Without
 * anything that serves it meanwhile, rank 1 gives up after GIVE_UP seconds. */
enum { FLAG = 2048, GIVE_UP = 2 };
static volatile double sink = 1;
static void compute(long units) {
  double x = sink; /* volatile, so that no repetition can be left out */
  for (long i = 0; i < units; ++i) x = x * 0.999999 + 1e-6;
  sink = x;
}
static void put_flush_busy(int bytes, int n) {
  static int round;
  const int now = ++round;
  if (bench_rank == 0) {
    put_flush(bytes, n);
    MPI_Put(&now, 1, MPI_INT, 1, FLAG, 1, MPI_INT, window);
    MPI_Win_flush(1, window);
  } else if (bench_rank == 1) {
    const double begin = MPI_Wtime();
    while (*(volatile int*)(own + FLAG) != now && MPI_Wtime() - begin < GIVE_UP) compute(10000);
  }
}

/* By how much a computation gets slower because there is a window that nobody accesses; percent. */
static double idle_window(void) {
  const long units = 50000000;
  double best[2] = {1e9, 1e9}, percent;
  for (int i = 0; i < 10; ++i) {
    char* base;
    if (i % 2) MPI_Win_allocate(4096, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &window);
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    compute(units);
    const double seconds = MPI_Wtime() - begin;
    if (seconds < best[i % 2]) best[i % 2] = seconds;
    MPI_Barrier(MPI_COMM_WORLD);
    if (i % 2) MPI_Win_free(&window);
  }
  percent = (best[1] / best[0] - 1) * 100;
  MPI_Allreduce(MPI_IN_PLACE, &percent, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return percent < 0 ? 0 : percent;
}

static const struct {
  const char* metric;
  activity body;
  int locked; /* runs inside of MPI_Win_lock_all */
} activities[] = {
    {"put_flush", put_flush, 1},
    {"get_flush", get_flush, 1},
    {"acc_flush", acc_flush, 1},
    {"fetch_and_op", fetch_and_op, 1},
    {"cas", cas, 1},
    {"lock_put_unlock", lock_put_unlock, 0},
    {"fence_put", fence_put, 0},
    {"pscw_put", pscw_put, 0},
    {"put_bandwidth", put_stream, 1},
    {"memcpy", plain_copy, 0},
    {"put_flush_busy", put_flush_busy, 1},
};

int bench_rma(const char* metric, int bytes, double* value) {
  if (!strcmp(metric, "idle_window")) {
    *value = idle_window();
    return 1;
  }
  for (size_t a = 0; a < sizeof activities / sizeof activities[0]; ++a) {
    if (strcmp(metric, activities[a].metric)) continue;
    char* base;
    MPI_Win_allocate(bytes < 4096 ? 4096 : bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &window);
    own = memset(base, 0, bytes < 4096 ? 4096 : (size_t)bytes);
    if (activities[a].locked) MPI_Win_lock_all(0, window);
    MPI_Barrier(MPI_COMM_WORLD);
    const double seconds = bench_measure(activities[a].body, bytes);
    MPI_Barrier(MPI_COMM_WORLD);
    if (activities[a].locked) MPI_Win_unlock_all(window);
    MPI_Win_free(&window);
    *value = !strcmp(metric, "put_bandwidth") ? (double)bytes * WINDOW / seconds / 1e9 : seconds * 1e6;
    return 1;
  }
  return 0;
}
