/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * shmemx.h: extensions of OpenSHMEM on RMQ. There are none: the specification wants the header all the same.
 */
#ifndef RMQ_SHMEMX_H
#define RMQ_SHMEMX_H

#include "shmem.h"

#endif
