/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Compiles only if every function of our list exists in the mpi.h found by <mpi.h> and has the same type there.
 *
 * abi_check.sh compiles it against MPICH's header (never against ours, which would compare the list with itself).
 */
#include <mpi.h>

/* A pointer of our type, initialised with the function of theirs. */
#define RMQ_MPI_FUNCTION(result, name, parameters)   \
  result(*check_MPI_##name) parameters = MPI_##name; \
  result(*check_PMPI_##name) parameters = PMPI_##name;
#define RMQ_MPIX_FUNCTION(result, name, parameters)    \
  result(*check_MPIX_##name) parameters = MPIX_##name; \
  result(*check_PMPIX_##name) parameters = PMPIX_##name;
#include "rmq_mpi_functions.inc"

/* The data symbols, declared again. */
extern MPI_Fint* MPI_F_STATUS_IGNORE;
extern MPI_Fint* MPI_F_STATUSES_IGNORE;
extern MPI_F08_status* MPI_F08_STATUS_IGNORE;
extern MPI_F08_status* MPI_F08_STATUSES_IGNORE;
extern int* const MPI_UNWEIGHTED;
extern int* const MPI_WEIGHTS_EMPTY;
extern struct MPIR_T_pvar_handle_s* const MPI_T_PVAR_ALL_HANDLES;
