/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pshmem.h: what the specification's examples of profiling libraries include. shmem.h declares all pshmem_ functions.
 */
#ifndef RMQ_PSHMEM_H
#define RMQ_PSHMEM_H

#include "shmem.h"

#endif
