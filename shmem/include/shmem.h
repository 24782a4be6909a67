/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * shmem.h: OpenSHMEM 1.6 on RMQ, for C11 (with generic selection), C99 and C++ (with overloads).
 *
 * Every function has its profiling twin pshmem_<name>. What each does, which arguments it takes and which of them are
 * symmetric is told by the OpenSHMEM specification; design/shmem.md tells how. Errors (a PE that does not exist, an
 * address that is not symmetric, a call outside of shmem_init and shmem_finalize, a PE that has died) end the job
 * with one line that names the function, the PE and the cause. shmem.h can be used together with mpi.h.
 *
 * Threads: as the level says that shmem_init_thread provides. A context made with SHMEM_CTX_PRIVATE or
 * SHMEM_CTX_SERIALIZED has one user at a time.
 */
#ifndef RMQ_SHMEM_H
#define RMQ_SHMEM_H

#include "rmq_shmem_handles.h"
#include "rmq_shmem_types.h"

#define SHMEM_MAJOR_VERSION 1
#define SHMEM_MINOR_VERSION 6
#define SHMEM_MAX_NAME_LEN 64
#define SHMEM_VENDOR_STRING "RMQ"
#define _SHMEM_MAJOR_VERSION SHMEM_MAJOR_VERSION
#define _SHMEM_MINOR_VERSION SHMEM_MINOR_VERSION
#define _SHMEM_MAX_NAME_LEN SHMEM_MAX_NAME_LEN
#define _SHMEM_VENDOR_STRING SHMEM_VENDOR_STRING

enum { SHMEM_THREAD_SINGLE, SHMEM_THREAD_FUNNELED, SHMEM_THREAD_SERIALIZED, SHMEM_THREAD_MULTIPLE };
#define SHMEM_THREAD_SINGLE SHMEM_THREAD_SINGLE
#define SHMEM_THREAD_FUNNELED SHMEM_THREAD_FUNNELED
#define SHMEM_THREAD_SERIALIZED SHMEM_THREAD_SERIALIZED
#define SHMEM_THREAD_MULTIPLE SHMEM_THREAD_MULTIPLE

enum { SHMEM_CMP_EQ = 1, SHMEM_CMP_NE, SHMEM_CMP_GT, SHMEM_CMP_LE, SHMEM_CMP_LT, SHMEM_CMP_GE };
#define SHMEM_CMP_EQ SHMEM_CMP_EQ
#define SHMEM_CMP_NE SHMEM_CMP_NE
#define SHMEM_CMP_GT SHMEM_CMP_GT
#define SHMEM_CMP_LE SHMEM_CMP_LE
#define SHMEM_CMP_LT SHMEM_CMP_LT
#define SHMEM_CMP_GE SHMEM_CMP_GE
#define _SHMEM_CMP_EQ SHMEM_CMP_EQ
#define _SHMEM_CMP_NE SHMEM_CMP_NE
#define _SHMEM_CMP_GT SHMEM_CMP_GT
#define _SHMEM_CMP_LE SHMEM_CMP_LE
#define _SHMEM_CMP_LT SHMEM_CMP_LT
#define _SHMEM_CMP_GE SHMEM_CMP_GE

enum { SHMEM_SIGNAL_SET, SHMEM_SIGNAL_ADD };
#define SHMEM_SIGNAL_SET SHMEM_SIGNAL_SET
#define SHMEM_SIGNAL_ADD SHMEM_SIGNAL_ADD

#define SHMEM_MALLOC_ATOMICS_REMOTE (1L << 0)
#define SHMEM_MALLOC_SIGNAL_REMOTE (1L << 1)

/* Collectives of active sets keep nothing in these arrays. */
#define SHMEM_SYNC_VALUE 0L
#define SHMEM_SYNC_SIZE 1
#define SHMEM_BARRIER_SYNC_SIZE SHMEM_SYNC_SIZE
#define SHMEM_BCAST_SYNC_SIZE SHMEM_SYNC_SIZE
#define SHMEM_REDUCE_SYNC_SIZE SHMEM_SYNC_SIZE
#define SHMEM_COLLECT_SYNC_SIZE SHMEM_SYNC_SIZE
#define SHMEM_ALLTOALL_SYNC_SIZE SHMEM_SYNC_SIZE
#define SHMEM_ALLTOALLS_SYNC_SIZE SHMEM_SYNC_SIZE
#define SHMEM_REDUCE_MIN_WRKDATA_SIZE 1
#define _SHMEM_SYNC_VALUE SHMEM_SYNC_VALUE
#define _SHMEM_BARRIER_SYNC_SIZE SHMEM_SYNC_SIZE
#define _SHMEM_BCAST_SYNC_SIZE SHMEM_SYNC_SIZE
#define _SHMEM_REDUCE_SYNC_SIZE SHMEM_SYNC_SIZE
#define _SHMEM_COLLECT_SYNC_SIZE SHMEM_SYNC_SIZE
#define _SHMEM_REDUCE_MIN_WRKDATA_SIZE SHMEM_REDUCE_MIN_WRKDATA_SIZE

#ifdef __cplusplus
extern "C" {
#endif

#define RMQ_SHMEM_FN(result, name, parameters) \
  result shmem_##name parameters;              \
  result pshmem_##name parameters;
#include "rmq_shmem_functions.inc"

#ifdef __cplusplus
} /* extern "C" */
#ifndef RMQ_SHMEM_NO_OVERLOADS
#include "rmq_shmem_overloads.inc"
#endif
#else
/* As OpenSHMEM 1.3 had them; generic where generic selection is, overloaded in C++. */
void shmem_wait(volatile long* ivar, long value);
void shmem_wait_until(volatile long* ivar, int cmp, long value);
#endif

#if !defined(__cplusplus) && defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L
#include "rmq_shmem_generic.inc"
#endif

/* As SGI's library spelt them. */
#ifdef __cplusplus
extern "C" {
#endif
int _my_pe(void);
int _num_pes(void);
void start_pes(int npes);
#ifdef __cplusplus
}
#endif
#define shmalloc shmem_malloc
#define shmemalign shmem_align
#define shrealloc shmem_realloc
#define shfree shmem_free

#endif
