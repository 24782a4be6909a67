/* SPDX-License-Identifier: BSD-3-Clause */
/* What the programs here check with. A failure is said, and counted in `errors`. */
#ifndef RMQ_TESTS_DYNAMIC_CHECK_H
#define RMQ_TESTS_DYNAMIC_CHECK_H
#include <mpi.h>
#include <stdio.h>

static int errors = 0;
#define CHECK(x)                                                            \
  do {                                                                      \
    if (!(x)) {                                                             \
      ++errors;                                                             \
      fprintf(stderr, "%s:%d: %s does not hold\n", __FILE__, __LINE__, #x); \
    }                                                                       \
  } while (0)

static inline int class_of(int code) {
  int class_ = code;
  if (code != MPI_SUCCESS) MPI_Error_class(code, &class_);
  return class_;
}

/* True, and MPI has ended, in a process that was spawned: such a one has nothing to do but to part from its parents. */
static inline int was_spawned(void) {
  MPI_Comm parent;
  MPI_Comm_get_parent(&parent);
  if (parent == MPI_COMM_NULL) return 0;
  MPI_Comm_disconnect(&parent);
  MPI_Finalize();
  return 1;
}

/* All errors of MPI_COMM_WORLD's ranks, the sum of which is the same everywhere. */
static inline int finish(void) {
  int all = 0, rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Allreduce(&errors, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf(all ? "%d errors\n" : "no errors\n", all);
  MPI_Finalize();
  return all != 0;
}
#endif
