/* SPDX-License-Identifier: BSD-3-Clause */
/* The benchmark behind rmqperf compare --shmem: plain OpenSHMEM 1.4 in C, so that any implementation can run the same
 * source; with -DBENCH_WINDOWS the same accesses by MPI's windows, and with -DBENCH_QUEUE random updates by RMQ's queue
 * buffer as well.
 *
 *   bench_shmem METRIC[:SIZE][,METRIC[:SIZE]…] [seconds a sample]
 *
 * PE 0 prints "metric size value" for each. Microseconds of a call, with quiet where it is a put; put_rate in millions
 * a second, put_bandwidth in GB/s: puts without a wait, WINDOW of them before each quiet. gups: random updates of one
 * word each by exclusive or, of all PEs' tables by all PEs, after RandomAccess of the HPC Challenge; millions a second
 * by all together. Each is the median of several batches. PE 0 accesses PE 1, which waits in a barrier.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { WINDOW = 64, BATCHES = 7, MAX_BYTES = 4 << 20, TABLE = 1 << 16 };

typedef void (*activity)(int bytes, int n);

static int me, pes;
static char* there; /* MAX_BYTES and the table behind, on each PE */
static char* here;
static double sample_seconds = 0.02;

/* ---- the two faces ---- */
#ifdef BENCH_WINDOWS
#include <mpi.h>
static MPI_Win window;
static void begin(void) {
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Comm_size(MPI_COMM_WORLD, &pes);
  MPI_Win_allocate(MAX_BYTES + TABLE * 8, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &there, &window);
  MPI_Win_lock_all(0, window);
}
static void finish(void) {
  MPI_Win_unlock_all(window);
  MPI_Win_free(&window);
  MPI_Finalize();
}
static void meet(void) {
  MPI_Barrier(MPI_COMM_WORLD);
}
static int agreed(int n) {
  MPI_Bcast(&n, 1, MPI_INT, 0, MPI_COMM_WORLD);
  return n;
}
static void quiet(void) {
  MPI_Win_flush_all(window);
}
static void put_nbi(int bytes) {
  MPI_Put(here, bytes, MPI_BYTE, 1, 0, bytes, MPI_BYTE, window);
}
static void put_one(int bytes) {
  put_nbi(bytes);
  MPI_Win_flush(1, window);
}
static void get_one(int bytes) {
  MPI_Get(here, bytes, MPI_BYTE, 1, 0, bytes, MPI_BYTE, window);
  MPI_Win_flush(1, window);
}
static void fetch_add_one(void) {
  const long one = 1;
  long before;
  MPI_Fetch_and_op(&one, &before, MPI_LONG, 1, 0, MPI_SUM, window);
  MPI_Win_flush(1, window);
}
static void cas_one(void) {
  const long from = 0, to = 0;
  long before;
  MPI_Compare_and_swap(&to, &from, &before, MPI_LONG, 1, 0, window);
  MPI_Win_flush(1, window);
}
static unsigned long values[WINDOW]; /* MPI reads them until they have left */
static int updates;
static void update(unsigned long value, int pe, long place) {
  if (updates == WINDOW) MPI_Win_flush_local_all(window), updates = 0;
  values[updates] = value;
  MPI_Accumulate(&values[updates++], 1, MPI_UNSIGNED_LONG, pe, MAX_BYTES + place * 8, 1, MPI_UNSIGNED_LONG, MPI_BXOR,
                 window);
}
static void bcast(int bytes, int n) {
  for (int i = 0; i < n; ++i) MPI_Bcast(here, bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
}
static void reduce(int bytes, int n) {
  for (int i = 0; i < n; ++i) {
    MPI_Allreduce(here, there, bytes / 8, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    meet(); /* as the other face has to */
  }
}
#else
#include <shmem.h>
static long sync_bcast[2][SHMEM_BCAST_SYNC_SIZE], sync_reduce[2][SHMEM_REDUCE_SYNC_SIZE];
static int repetitions;
static long* work; /* of a reduction: half of its elements and one, at least the least */
static void begin(void) {
  shmem_init();
  me = shmem_my_pe();
  pes = shmem_n_pes();
  there = shmem_malloc(MAX_BYTES + TABLE * 8);
  const int most = MAX_BYTES / 16 + 1;
  work = shmem_malloc((size_t)(most > SHMEM_REDUCE_MIN_WRKDATA_SIZE ? most : SHMEM_REDUCE_MIN_WRKDATA_SIZE) * 8);
  for (int i = 0; i < 2 * SHMEM_BCAST_SYNC_SIZE; ++i) (&sync_bcast[0][0])[i] = SHMEM_SYNC_VALUE;
  for (int i = 0; i < 2 * SHMEM_REDUCE_SYNC_SIZE; ++i) (&sync_reduce[0][0])[i] = SHMEM_SYNC_VALUE;
  shmem_barrier_all();
}
static void finish(void) {
#ifdef BENCH_NO_FINALIZE /* where it crashes, as in Open MPI 4.1.4 of Debian 12 */
  shmem_barrier_all();
  shmem_global_exit(0);
#else
  shmem_finalize();
#endif
}
static void meet(void) {
  shmem_barrier_all();
}
static int agreed(int n) {
  if (me == 0)
    for (int pe = 0; pe < pes; ++pe) shmem_int_p(&repetitions, n, pe);
  shmem_barrier_all();
  n = repetitions;
  shmem_barrier_all();
  return n;
}
static void quiet(void) {
  shmem_quiet();
}
static void put_nbi(int bytes) {
  shmem_putmem_nbi(there, here, (size_t)bytes, 1);
}
static void put_one(int bytes) {
  if (bytes == 8)
    shmem_long_p((long*)there, 1, 1);
  else
    shmem_putmem(there, here, (size_t)bytes, 1);
  shmem_quiet();
}
static void get_one(int bytes) {
  shmem_getmem(here, there, (size_t)bytes, 1);
}
static void fetch_add_one(void) {
  shmem_long_atomic_fetch_add((long*)there, 1, 1);
}
static void cas_one(void) {
  shmem_long_atomic_compare_swap((long*)there, 0, 0, 1);
}
static void update(unsigned long value, int pe, long place) {
  shmem_ulong_atomic_xor((unsigned long*)(there + MAX_BYTES) + place, value, pe);
}
static void bcast(int bytes, int n) {
  static int turn;
  for (int i = 0; i < n; ++i, turn = !turn)
    shmem_broadcast64(there, there + MAX_BYTES / 2, (size_t)bytes / 8, 0, 0, 0, pes, sync_bcast[turn]);
}
static void reduce(int bytes, int n) {
  static int turn;
  for (int i = 0; i < n; ++i, turn = !turn) {
    shmem_long_sum_to_all((long*)there, (long*)(there + MAX_BYTES / 2), bytes / 8, 0, 0, pes, work, sync_reduce[turn]);
    shmem_barrier_all(); /* whoever is through early would use `work` again */
  }
}
#endif

/* ---- what is measured ---- */

static void put(int bytes, int n) {
  for (int i = 0; i < n && me == 0; ++i) put_one(bytes);
}
static void get(int bytes, int n) {
  for (int i = 0; i < n && me == 0; ++i) get_one(bytes);
}
static void put_stream(int bytes, int n) {
  for (int i = 0; i < n && me == 0; ++i) {
    for (int w = 0; w < WINDOW; ++w) put_nbi(bytes);
    quiet();
  }
}
static void fetch_add(int bytes, int n) {
  (void)bytes;
  for (int i = 0; i < n && me == 0; ++i) fetch_add_one();
}
static void cas(int bytes, int n) {
  (void)bytes;
  for (int i = 0; i < n && me == 0; ++i) cas_one();
}
static void barrier(int bytes, int n) {
  (void)bytes;
  for (int i = 0; i < n; ++i) meet();
}

static unsigned long next(unsigned long x) { /* xorshift64 (G. Marsaglia, "Xorshift RNGs", 2003) */
  x ^= x << 13;
  x ^= x >> 7;
  return x ^ x << 17;
}
static void gups(int bytes, int n) {
  unsigned long x = 88172645463325252UL + (unsigned long)me;
  (void)bytes;
  for (int i = 0; i < n; ++i) {
    for (int w = 0; w < WINDOW; ++w) {
      x = next(x);
      update(x, (int)(x % (unsigned long)pes), (long)(x >> 32 & (TABLE - 1)));
    }
  }
  quiet();
  meet();
}

#ifdef BENCH_QUEUE
#include <rmq_queue.h>
static rmq_queue queue;
static unsigned long* arrived;
static int ended;
static void take(void) {
  int count;
  rmq_queue_get(queue, arrived, &count);
  for (int i = 0; i < count; ++i) {
    if (arrived[i] == 0)
      ++ended;
    else
      ((unsigned long*)(there + MAX_BYTES))[arrived[i] >> 32 & (TABLE - 1)] ^= arrived[i];
  }
}
static void hand(unsigned long value, int pe) {
  int done;
  for (rmq_queue_try_put(queue, pe, &value, &done); !done; rmq_queue_try_put(queue, pe, &value, &done)) take();
}
static void gups_queue(int bytes, int n) {
  unsigned long x = 88172645463325252UL + (unsigned long)me;
  (void)bytes;
  ended = 0;
  for (int i = 0; i < n; ++i) {
    for (int w = 0; w < WINDOW; ++w) {
      x = next(x);
      hand(x, (int)(x % (unsigned long)pes));
    }
    take();
  }
  for (int pe = 0; pe < pes; ++pe) hand(0, pe);
  while (ended < pes) take();
  meet();
}
#endif

static int by_value(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Seconds that one repetition takes, by PE 0's clock. */
static double measure(activity body, int bytes) {
  double batch[BATCHES];
  int n = 1, enough = 0;
  while (!enough) { /* how many make a batch */
    meet();
    double t = now();
    body(bytes, n);
    t = now() - t;
    const int more =
        t >= sample_seconds / 4 || n >= 1 << 26 ? -((int)(n * (sample_seconds / (t > 1e-9 ? t : 1e-9))) + 1) : n * 4;
    n = agreed(more);
    if ((enough = n < 0)) n = -n;
  }
  for (int i = 0; i < BATCHES; ++i) {
    meet();
    const double t = now();
    body(bytes, n);
    batch[i] = (now() - t) / n;
  }
  qsort(batch, BATCHES, sizeof batch[0], by_value);
  return batch[BATCHES / 2];
}

enum unit { MICROSECONDS, MILLIONS, MILLIONS_BY_ALL, GIGABYTES };
static const struct {
  const char* metric;
  activity body;
  enum unit unit;
} activities[] = {
    {"put", put, MICROSECONDS},
    {"get", get, MICROSECONDS},
    {"put_rate", put_stream, MILLIONS},
    {"put_bandwidth", put_stream, GIGABYTES},
    {"fetch_add", fetch_add, MICROSECONDS},
    {"cas", cas, MICROSECONDS},
    {"barrier", barrier, MICROSECONDS},
    {"bcast", bcast, MICROSECONDS},
    {"allreduce", reduce, MICROSECONDS},
    {"gups", gups, MILLIONS_BY_ALL},
#ifdef BENCH_QUEUE
    {"gups_queue", gups_queue, MILLIONS_BY_ALL},
#endif
};

static void run(const char* metric, int bytes) {
  for (size_t a = 0; a < sizeof activities / sizeof *activities; ++a) {
    if (strcmp(metric, activities[a].metric)) continue;
    const double seconds = measure(activities[a].body, bytes);
    const double value = activities[a].unit == MICROSECONDS      ? seconds * 1e6
                         : activities[a].unit == GIGABYTES       ? (double)bytes * WINDOW / seconds / 1e9
                         : activities[a].unit == MILLIONS_BY_ALL ? (double)WINDOW * pes / seconds / 1e6
                                                                 : WINDOW / seconds / 1e6;
    if (me == 0) printf("%s %d %.6g\n", metric, bytes, value), fflush(stdout);
  }
}

int main(int argc, char** argv) {
  begin();
  if (argc > 2) sample_seconds = atof(argv[2]);
  here = malloc(MAX_BYTES);
  memset(here, 1, MAX_BYTES);
  memset(there, 0, MAX_BYTES + TABLE * 8);
#ifdef BENCH_QUEUE
  int most;
  rmq_queue_create(MPI_COMM_WORLD, 8, 4096, &queue);
  rmq_queue_most(queue, &most);
  arrived = malloc((size_t)most * 8);
#endif
  char list[1024] = "";
  if (argc > 1) snprintf(list, sizeof list, "%s", argv[1]);
  for (char* item = strtok(list, ","); item; item = strtok(NULL, ",")) {
    char* colon = strchr(item, ':');
    if (colon) *colon = 0;
    run(item, colon ? atoi(colon + 1) : 0);
  }
#ifdef BENCH_QUEUE
  free(arrived);
  rmq_queue_free(&queue);
#endif
  free(here);
  finish();
  return 0;
}
