/* SPDX-License-Identifier: BSD-3-Clause */
/* A program of another MPI: each of its processes would take itself for rank 0 of 1. */
#include <stdio.h>

int other_mpi_init(void);

int main(void) {
  puts("runs alone");
  return other_mpi_init();
}
