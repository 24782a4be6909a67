/* SPDX-License-Identifier: BSD-3-Clause */
/* What the parts of the benchmark share. */
#ifndef RMQ_BENCH_H
#define RMQ_BENCH_H

#include <mpi.h>

enum { WINDOW = 64, BATCHES = 7, MAX_BYTES = 64 << 20 };

extern int bench_rank, bench_size;
extern char *bench_out, *bench_in; /* MAX_BYTES each */

/* One measured activity: `body(bytes, n)` does it n times. */
typedef void (*activity)(int bytes, int n);

/* Seconds that one repetition takes, the same on all ranks: rank 0's clock decides. */
double bench_measure(activity body, int bytes);

/* Measures a metric of remote memory access between ranks 0 and 1; 0 when there is none of this name. */
int bench_rma(const char* metric, int bytes, double* value);

#endif
