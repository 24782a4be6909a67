/* SPDX-License-Identifier: BSD-3-Clause */
/* What the programs here share: a check that names the place and ends the job. */
#ifndef RMQ_TESTS_SHMEM_CHECK_H
#define RMQ_TESTS_SHMEM_CHECK_H

#include <shmem.h>
#include <stdio.h>

#define CHECK(condition)                                                                    \
  do {                                                                                      \
    if (!(condition)) {                                                                     \
      fprintf(stderr, "%s:%d: PE %d: %s\n", __FILE__, __LINE__, shmem_my_pe(), #condition); \
      shmem_global_exit(3);                                                                 \
    }                                                                                       \
  } while (0)

#endif
