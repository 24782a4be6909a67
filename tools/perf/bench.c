/* SPDX-License-Identifier: BSD-3-Clause */
/* The benchmark behind rmqperf: plain MPI in C, so that any implementation can run the same source.
 *
 *   bench METRIC[:SIZE][,METRIC[:SIZE]…] [seconds a sample]
 *
 * Rank 0 prints one line for each: "metric size value". Values: microseconds (latency: one way; match and
 * collectives: a call), bytes a microsecond / 1000 = GB/s (bandwidth, bibandwidth), million messages a second (rate),
 * percent (overlap), MB (memory). Each is the median of several batches, so that one slow phase of the machine does not
 * decide. Remote memory access: bench_rma.c. Buffers are reused, so that sizes below a few MB are measured in cache.
 */
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int bench_rank, bench_size;
char *bench_out, *bench_in;
static double sample_seconds = 0.02; /* length of one batch */

static int by_value(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

double bench_measure(activity body, int bytes) {
  double batch[BATCHES];
  int n = 1;
  for (;;) { /* how many make a batch */
    MPI_Barrier(MPI_COMM_WORLD);
    double t = MPI_Wtime();
    body(bytes, n);
    t = MPI_Wtime() - t;
    MPI_Bcast(&t, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    if (t >= sample_seconds / 4 || n >= (1 << 26)) {
      n = (int)(n * (sample_seconds / (t > 1e-9 ? t : 1e-9))) + 1;
      break;
    }
    n *= 4;
  }
  for (int i = 0; i < BATCHES; ++i) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double t = MPI_Wtime();
    body(bytes, n);
    batch[i] = (MPI_Wtime() - t) / n;
  }
  qsort(batch, BATCHES, sizeof batch[0], by_value);
  return batch[BATCHES / 2];
}

static void ping_pong(int bytes, int n) {
  for (int i = 0; i < n && bench_rank < 2; ++i) {
    if (bench_rank == 0) {
      MPI_Send(bench_out, bytes, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
      MPI_Recv(bench_in, bytes, MPI_BYTE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
      MPI_Recv(bench_in, bytes, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Send(bench_out, bytes, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
    }
  }
}

/* A window of messages one way, then a short answer. */
static void stream(int bytes, int n) {
  MPI_Request window[WINDOW];
  for (int i = 0; i < n && bench_rank < 2; ++i) {
    for (int w = 0; w < WINDOW; ++w) {
      if (bench_rank == 0) {
        MPI_Isend(bench_out, bytes, MPI_BYTE, 1, 1, MPI_COMM_WORLD, &window[w]);
      } else {
        MPI_Irecv(bench_in, bytes, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &window[w]);
      }
    }
    MPI_Waitall(WINDOW, window, MPI_STATUSES_IGNORE);
    if (bench_rank == 0) {
      MPI_Recv(bench_in, 4, MPI_BYTE, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
      MPI_Send(bench_out, 4, MPI_BYTE, 0, 2, MPI_COMM_WORLD);
    }
  }
}

static void exchange(int bytes, int n) {
  MPI_Request window[2 * WINDOW];
  for (int i = 0; i < n && bench_rank < 2; ++i) {
    for (int w = 0; w < WINDOW; ++w) {
      MPI_Irecv(bench_in, bytes, MPI_BYTE, !bench_rank, 1, MPI_COMM_WORLD, &window[w]);
      MPI_Isend(bench_out, bytes, MPI_BYTE, !bench_rank, 1, MPI_COMM_WORLD, &window[WINDOW + w]);
    }
    MPI_Waitall(2 * WINDOW, window, MPI_STATUSES_IGNORE);
  }
}

/* One way of a ping-pong past `depth` posted receives that do not fit: seconds. Posting and cancelling is not timed. */
static double measure_match(int depth) {
  MPI_Request* others = malloc(sizeof *others * (size_t)depth);
  const int peer = !bench_rank;
  double seconds = 0;
  if (bench_rank < 2) {
    for (int i = 0; i < depth; ++i) MPI_Irecv(bench_in, 1, MPI_BYTE, peer, 1000 + i, MPI_COMM_WORLD, &others[i]);
  }
  seconds = bench_measure(ping_pong, 8) / 2;
  if (bench_rank < 2) {
    for (int i = 0; i < depth; ++i) MPI_Cancel(&others[i]);
    MPI_Waitall(depth, others, MPI_STATUSES_IGNORE);
  }
  free(others);
  return seconds;
}

static void barrier(int bytes, int n) {
  (void)bytes;
  for (int i = 0; i < n; ++i) MPI_Barrier(MPI_COMM_WORLD);
}

static void allreduce(int bytes, int n) {
  for (int i = 0; i < n; ++i) {
    MPI_Allreduce(bench_out, bench_in, bytes / 8, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  }
}

static void alltoall(int bytes, int n) {
  for (int i = 0; i < n; ++i) {
    MPI_Alltoall(bench_out, bytes, MPI_BYTE, bench_in, bytes, MPI_BYTE, MPI_COMM_WORLD);
  }
}

/* A barrier behind each: else ranks that only send would run ahead. */
static void bcast(int bytes, int n) {
  for (int i = 0; i < n; ++i) {
    MPI_Bcast(bench_out, bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
  }
}
static void reduce(int bytes, int n) {
  for (int i = 0; i < n; ++i) {
    MPI_Reduce(bench_out, bench_in, bytes / 8, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
  }
}
static void gather(int bytes, int n) {
  for (int i = 0; i < n; ++i) {
    MPI_Gather(bench_out, bytes, MPI_BYTE, bench_in, bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
  }
}
static void scatter(int bytes, int n) {
  for (int i = 0; i < n; ++i) {
    MPI_Scatter(bench_out, bytes, MPI_BYTE, bench_in, bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

static void allgather(int bytes, int n) {
  for (int i = 0; i < n; ++i) {
    MPI_Allgather(bench_out, bytes, MPI_BYTE, bench_in, bytes, MPI_BYTE, MPI_COMM_WORLD);
  }
}

static void reduce_scatter(int bytes, int n) {
  for (int i = 0; i < n; ++i) {
    MPI_Reduce_scatter_block(bench_out, bench_in, bytes / 8, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  }
}

/* No other rank has a part in it. */
static void combine(int bytes, int n) {
  for (int i = 0; i < n; ++i) MPI_Reduce_local(bench_out, bench_in, bytes / 8, MPI_DOUBLE, MPI_SUM);
}

static const struct {
  const char* name;
  activity body;
} collectives[] = {{"barrier", barrier}, {"allreduce", allreduce}, {"alltoall", alltoall},
                   {"bcast", bcast},     {"reduce", reduce},       {"gather", gather},
                   {"scatter", scatter}, {"allgather", allgather}, {"reduce_scatter", reduce_scatter},
                   {"combine", combine}};

/* Microseconds a call; 0: there is no such collective. */
static int collective(const char* metric, int bytes, double* value) {
  for (size_t i = 0; i < sizeof collectives / sizeof *collectives; ++i) {
    if (strcmp(metric, collectives[i].name)) continue;
    *value = bench_measure(collectives[i].body, bytes) * 1e6;
    return 1;
  }
  return 0;
}

static volatile double sink = 1;
static int work_units;

static void compute(int units) {
  double x = sink; /* volatile, so that no repetition can be left out */
  for (int i = 0; i < units; ++i) x = x * 0.999999 + 1e-6;
  sink = x;
}

static void transfer(int bytes, int n, int units) {
  MPI_Request both[2];
  for (int i = 0; i < n && bench_rank < 2; ++i) {
    MPI_Irecv(bench_in, bytes, MPI_BYTE, !bench_rank, 1, MPI_COMM_WORLD, &both[0]);
    MPI_Isend(bench_out, bytes, MPI_BYTE, !bench_rank, 1, MPI_COMM_WORLD, &both[1]);
    if (units) compute(units);
    MPI_Waitall(2, both, MPI_STATUSES_IGNORE);
  }
}
static void transfer_only(int bytes, int n) {
  transfer(bytes, n, 0);
}
static void transfer_and_work(int bytes, int n) {
  transfer(bytes, n, work_units);
}
static void work_only(int bytes, int n) {
  (void)bytes;
  for (int i = 0; i < n && bench_rank < 2; ++i) compute(work_units);
}

/* How much of a transfer hides behind as much computation, in percent. */
static double overlap(int bytes) {
  const double wire = bench_measure(transfer_only, bytes);
  work_units = 1000;
  const double unit = bench_measure(work_only, 0) / work_units;
  work_units = (int)(wire / unit) + 1;
  MPI_Bcast(&work_units, 1, MPI_INT, 0, MPI_COMM_WORLD);
  const double work = bench_measure(work_only, 0), both = bench_measure(transfer_and_work, bytes);
  const double hidden = (wire + work - both) / (wire < work ? wire : work) * 100;
  return hidden < 0 ? 0 : hidden > 100 ? 100 : hidden;
}

/* Mean resident memory of a rank, shared pages shared out (PSS), MB. */
static double memory(void) {
  double kb = 0, sum = 0;
  char line[256];
  FILE* f = fopen("/proc/self/smaps_rollup", "r");
  while (f && fgets(line, sizeof line, f)) {
    if (sscanf(line, "Pss: %lf", &kb) == 1) break;
  }
  if (f) fclose(f);
  MPI_Reduce(&kb, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  return sum / bench_size * 1024 / 1e6;
}

static void run(const char* metric, int bytes) {
  double value;
  if (!strcmp(metric, "latency")) {
    value = bench_measure(ping_pong, bytes) / 2 * 1e6;
  } else if (!strcmp(metric, "bandwidth")) {
    value = (double)bytes * WINDOW / bench_measure(stream, bytes) / 1e9;
  } else if (!strcmp(metric, "bibandwidth")) {
    value = 2.0 * bytes * WINDOW / bench_measure(exchange, bytes) / 1e9;
  } else if (!strcmp(metric, "rate")) {
    value = WINDOW / bench_measure(stream, bytes) / 1e6;
  } else if (!strcmp(metric, "match")) {
    value = measure_match(bytes) * 1e6;
  } else if (!strcmp(metric, "overlap")) {
    value = overlap(bytes);
  } else if (!collective(metric, bytes, &value) && !bench_rma(metric, bytes, &value)) {
    if (bench_rank == 0) fprintf(stderr, "bench: no metric '%s'\n", metric);
    MPI_Abort(MPI_COMM_WORLD, 2);
    return;
  }
  if (bench_rank == 0) printf("%s %d %.6g\n", metric, bytes, value), fflush(stdout);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &bench_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &bench_size);
  if (argc > 2) sample_seconds = atof(argv[2]);
  char list[1024] = "";
  if (argc > 1) snprintf(list, sizeof list, "%s", argv[1]);
  if (!strcmp(list, "memory")) { /* before any buffer is touched */
    const double mb = memory();
    if (bench_rank == 0) printf("memory 0 %.6g\n", mb);
    MPI_Finalize();
    return 0;
  }
  if (*list) {
    bench_out = malloc(MAX_BYTES);
    bench_in = malloc(MAX_BYTES);
    memset(bench_out, 1, MAX_BYTES); /* not zero: pages that were never written all read one page of zeros */
    memset(bench_in, 0, MAX_BYTES);
  }
  for (char* item = strtok(list, ","); item; item = strtok(NULL, ",")) {
    char* colon = strchr(item, ':');
    if (colon) *colon = 0;
    run(item, colon ? atoi(colon + 1) : 0);
  }
  free(bench_out);
  free(bench_in);
  MPI_Finalize();
  return 0;
}
