/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mpi.h of RMQ: MPI-4.1 for C and C++ programs, in the binary interface of MPICH (libmpich.so.12, 64-bit Linux).
 *
 * Handles, constants and types stand in rmq_mpi_types.h. The functions are listed once, in rmq_mpi_functions.inc, those
 * that MPI-4.1 has added in rmq_mpi_functions_newer.inc.
 *
 * Valid as C99 and as C++98 and later, silent under -Wall -Wextra -pedantic, and under -Wold-style-cast in C++.
 * The C++ bindings that MPI-3.0 removed (namespace MPI) are not offered.
 */
#ifndef RMQ_MPI_H
#define RMQ_MPI_H
#define MPI_INCLUDED /* other libraries' headers ask this name whether mpi.h has been seen */

/* ---- Versions ---- */

#define MPI_VERSION 4
#define MPI_SUBVERSION 1

/* How a program recognises this implementation. No MPICH, MPICH_VERSION or MPICH_NUMVERSION: programs read those as a
 * promise of one code base with its extra headers and its bugs, while we promise the binary interface alone. */
#define RMQ 1
#ifndef RMQ_VERSION
#define RMQ_VERSION "0.1.0"
#endif

#if (defined(__STDC_VERSION__) && __STDC_VERSION__ >= 199901L) || (defined(__cplusplus) && __cplusplus >= 201103L)
#include <stdint.h> /* not needed here; programs have come to rely on it */
#endif

#include "rmq_mpi_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Functions ---- */

#define RMQ_MPI_FUNCTION(result, name, parameters) RMQ_MPI_PUBLIC result MPI_##name parameters;
#define RMQ_MPIX_FUNCTION(result, name, parameters) RMQ_MPI_PUBLIC result MPIX_##name parameters;
#include "rmq_mpi_functions.inc"
#define RMQ_MPI_FUNCTION(result, name, parameters) RMQ_MPI_PUBLIC result MPI_##name parameters;
#define RMQ_MPIX_FUNCTION(result, name, parameters) RMQ_MPI_PUBLIC result MPIX_##name parameters;
#include "rmq_mpi_functions_newer.inc"

/* The same under the names by which a profiling library reaches them. */
#define RMQ_MPI_FUNCTION(result, name, parameters) RMQ_MPI_PUBLIC result PMPI_##name parameters;
#define RMQ_MPIX_FUNCTION(result, name, parameters) RMQ_MPI_PUBLIC result PMPIX_##name parameters;
#include "rmq_mpi_functions.inc"
#define RMQ_MPI_FUNCTION(result, name, parameters) RMQ_MPI_PUBLIC result PMPI_##name parameters;
#define RMQ_MPIX_FUNCTION(result, name, parameters) RMQ_MPI_PUBLIC result PMPIX_##name parameters;
#include "rmq_mpi_functions_newer.inc"

/* ---- Handles for Fortran ---- */

/* A handle of Fortran is the number of C; files, being pointers, have real functions. */
#define MPI_Comm_c2f(comm) RMQ_MPI_VALUE(MPI_Fint, comm)
#define MPI_Comm_f2c(comm) RMQ_MPI_VALUE(MPI_Comm, comm)
#define MPI_Type_c2f(datatype) RMQ_MPI_VALUE(MPI_Fint, datatype)
#define MPI_Type_f2c(datatype) RMQ_MPI_VALUE(MPI_Datatype, datatype)
#define MPI_Group_c2f(group) RMQ_MPI_VALUE(MPI_Fint, group)
#define MPI_Group_f2c(group) RMQ_MPI_VALUE(MPI_Group, group)
#define MPI_Request_c2f(request) RMQ_MPI_VALUE(MPI_Fint, request)
#define MPI_Request_f2c(request) RMQ_MPI_VALUE(MPI_Request, request)
#define MPI_Message_c2f(message) RMQ_MPI_VALUE(MPI_Fint, message)
#define MPI_Message_f2c(message) RMQ_MPI_VALUE(MPI_Message, message)
#define MPI_Op_c2f(op) RMQ_MPI_VALUE(MPI_Fint, op)
#define MPI_Op_f2c(op) RMQ_MPI_VALUE(MPI_Op, op)
#define MPI_Errhandler_c2f(errhandler) RMQ_MPI_VALUE(MPI_Fint, errhandler)
#define MPI_Errhandler_f2c(errhandler) RMQ_MPI_VALUE(MPI_Errhandler, errhandler)
#define MPI_Info_c2f(info) RMQ_MPI_VALUE(MPI_Fint, info)
#define MPI_Info_f2c(info) RMQ_MPI_VALUE(MPI_Info, info)
#define MPI_Win_c2f(win) RMQ_MPI_VALUE(MPI_Fint, win)
#define MPI_Win_f2c(win) RMQ_MPI_VALUE(MPI_Win, win)
#define MPI_Session_c2f(session) RMQ_MPI_VALUE(MPI_Fint, session)
#define MPI_Session_f2c(session) RMQ_MPI_VALUE(MPI_Session, session)

#define PMPI_Comm_c2f(comm) MPI_Comm_c2f(comm)
#define PMPI_Comm_f2c(comm) MPI_Comm_f2c(comm)
#define PMPI_Type_c2f(datatype) MPI_Type_c2f(datatype)
#define PMPI_Type_f2c(datatype) MPI_Type_f2c(datatype)
#define PMPI_Group_c2f(group) MPI_Group_c2f(group)
#define PMPI_Group_f2c(group) MPI_Group_f2c(group)
#define PMPI_Request_c2f(request) MPI_Request_c2f(request)
#define PMPI_Request_f2c(request) MPI_Request_f2c(request)
#define PMPI_Message_c2f(message) MPI_Message_c2f(message)
#define PMPI_Message_f2c(message) MPI_Message_f2c(message)
#define PMPI_Op_c2f(op) MPI_Op_c2f(op)
#define PMPI_Op_f2c(op) MPI_Op_f2c(op)
#define PMPI_Errhandler_c2f(errhandler) MPI_Errhandler_c2f(errhandler)
#define PMPI_Errhandler_f2c(errhandler) MPI_Errhandler_f2c(errhandler)
#define PMPI_Info_c2f(info) MPI_Info_c2f(info)
#define PMPI_Info_f2c(info) MPI_Info_f2c(info)
#define PMPI_Win_c2f(win) MPI_Win_c2f(win)
#define PMPI_Win_f2c(win) MPI_Win_f2c(win)
#define PMPI_Session_c2f(session) MPI_Session_c2f(session)
#define PMPI_Session_f2c(session) MPI_Session_f2c(session)

#ifdef __cplusplus
}
#endif

#endif
