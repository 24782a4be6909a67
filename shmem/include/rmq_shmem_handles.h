/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rmq_shmem_handles.h: handles of contexts and teams.
 */
#ifndef RMQ_SHMEM_HANDLES_H
#define RMQ_SHMEM_HANDLES_H

#include <stddef.h>

#ifdef __cplusplus
#define RMQ_SHMEM_HANDLE(type, number) (reinterpret_cast<type>(number))
#else
#define RMQ_SHMEM_HANDLE(type, number) ((type)(number))
#endif

typedef struct rmq_shmem_ctx* shmem_ctx_t;
typedef struct rmq_shmem_team* shmem_team_t;
typedef struct {
  int num_contexts; /* that are going to be made of the team */
} shmem_team_config_t;
typedef struct {
  size_t total_ops; /* that are going to be issued in the session; SIZE_MAX: nobody knows */
} shmem_ctx_session_config_t;

#define SHMEM_CTX_INVALID RMQ_SHMEM_HANDLE(shmem_ctx_t, 0L)
#define SHMEM_CTX_DEFAULT RMQ_SHMEM_HANDLE(shmem_ctx_t, 1L)
#define SHMEM_CTX_SERIALIZED (1L << 0)
#define SHMEM_CTX_PRIVATE (1L << 1)
#define SHMEM_CTX_NOSTORE (1L << 2)
#define SHMEM_CTX_SESSION_BATCH (1L << 0)
#define SHMEM_CTX_SESSION_TOTAL_OPS (1L << 0)

#define SHMEM_TEAM_INVALID RMQ_SHMEM_HANDLE(shmem_team_t, 0L)
#define SHMEM_TEAM_WORLD RMQ_SHMEM_HANDLE(shmem_team_t, 1L)
#define SHMEM_TEAM_SHARED RMQ_SHMEM_HANDLE(shmem_team_t, 2L)
#define SHMEM_TEAM_NUM_CONTEXTS (1L << 0)

#endif
