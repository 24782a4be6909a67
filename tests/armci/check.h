/* SPDX-License-Identifier: BSD-3-Clause */
/* What the programs here share: a check that names the place and ends the job. */
#ifndef RMQ_TESTS_ARMCI_CHECK_H
#define RMQ_TESTS_ARMCI_CHECK_H

#include <armci.h>
#include <stdio.h>

#define CHECK(condition)                                                                          \
  do {                                                                                            \
    if (!(condition)) {                                                                           \
      fprintf(stderr, "%s:%d: process %d: %s\n", __FILE__, __LINE__, armci_msg_me(), #condition); \
      ARMCI_Error("a check has failed", 3);                                                       \
    }                                                                                             \
  } while (0)

#endif
