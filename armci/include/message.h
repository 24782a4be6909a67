/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * message.h: where programs look for ARMCI's messages and collectives, which armci.h has.
 */
#include <armci.h>
