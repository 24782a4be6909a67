/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * armci.h: ARMCI, the aggregate remote memory copy interface, on RMQ's remote memory access.
 *
 * Processes are those of MPI_COMM_WORLD, or of the communicator that ARMCI_Init_mpi_comm was given. An operation names
 * a process and an address in that process, inside of memory that ARMCI_Malloc has given it. Sizes, strides and counts
 * of a first dimension are bytes. What ARMCI's functions do is told by its documentation; design/armci.md tells how.
 *
 * Every function has its profiling twin PARMCI_<name>. Functions that return an int return 0. Errors (an address that
 * is not of ARMCI_Malloc, a process that does not exist or has died, memory that is used up) end the job with one line
 * that names the function, the process and the cause. armci.h can be used together with mpi.h, and messages of both.
 *
 * Threads: as the level says that MPI_Init_thread or ARMCI_Init_thread provides. A handle has one user at a time.
 */
#ifndef RMQ_ARMCI_H
#define RMQ_ARMCI_H

#ifdef RMQ_ARMCI_TYPES_ALONE /* RMQ itself; programs have always had all of MPI with it */
#include "engine/include/rmq_mpi_types.h"
#else
#include <mpi.h>
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef long armci_size_t;

/* Accumulates: each element there becomes itself plus scale times the one here. `scale` points at one element. */
enum ARMCI_Acc_e { ARMCI_ACC_INT, ARMCI_ACC_LNG, ARMCI_ACC_FLT, ARMCI_ACC_DBL, ARMCI_ACC_CPL, ARMCI_ACC_DCP };
/* The first two change an int, the others a long; `value` is what is added, what is swapped lies in *ploc. */
enum ARMCI_Rmw_e { ARMCI_FETCH_AND_ADD, ARMCI_FETCH_AND_ADD_LONG, ARMCI_SWAP, ARMCI_SWAP_LONG };

/* Pieces of one length; `bytes` in each. */
typedef struct {
  void** src_ptr_array;
  void** dst_ptr_array;
  int bytes;
  int ptr_array_len;
} armci_giov_t;

/* What a non-blocking operation is told by; a handle that is reused before it is waited for forgets the earlier
 * operation, unless it is an aggregate one. NULL in its place: ARMCI_WaitProc, ARMCI_WaitAll or a fence completes it.
 */
typedef struct {
  unsigned long memory;    /* which allocation; 0: nothing is under way */
  unsigned long operation; /* its number among those to that place */
  int place;
  int aggregate;
} armci_hdl_t;

/* Some processes in an order of their own; a number. */
typedef int ARMCI_Group;

/* Strided data: `count[0]` bytes in a row, count[i] times what dimension i - 1 is, at distances of stride[i - 1]. */
#define RMQ_ARMCI_STRIDED void *src, int *src_stride, void *dst, int *dst_stride, int *count, int levels

/* RMQ_ARMCI_FN(result, name, parameters): ARMCI_<name> and PARMCI_<name>. */
#define RMQ_ARMCI_FN(result, name, parameters) \
  result ARMCI_##name parameters;              \
  result PARMCI_##name parameters;

/* Start and end; all of them collective but Initialized, Cleanup and Error. */
RMQ_ARMCI_FN(int, Init, (void))
RMQ_ARMCI_FN(int, Init_args, (int* argc, char*** argv))
RMQ_ARMCI_FN(int, Init_thread, (int level))
RMQ_ARMCI_FN(int, Init_thread_comm, (int level, MPI_Comm comm))
RMQ_ARMCI_FN(int, Init_mpi_comm, (MPI_Comm comm))
RMQ_ARMCI_FN(int, Initialized, (void))
RMQ_ARMCI_FN(int, Finalize, (void))
RMQ_ARMCI_FN(void, Cleanup, (void))
RMQ_ARMCI_FN(void, Error, (const char* text, int code))

/* Memory. Malloc and Free are collective over all, or over the group; each brings a size of its own, which may be 0:
 * its pointer is NULL then, and NULL is what it frees. */
RMQ_ARMCI_FN(int, Malloc, (void** pointers, armci_size_t bytes))
RMQ_ARMCI_FN(int, Free, (void* pointer))
RMQ_ARMCI_FN(int, Malloc_group, (void** pointers, armci_size_t bytes, ARMCI_Group* group))
RMQ_ARMCI_FN(int, Free_group, (void* pointer, ARMCI_Group* group))
RMQ_ARMCI_FN(int, Malloc_memdev, (void** pointers, armci_size_t bytes, const char* device))
RMQ_ARMCI_FN(int, Malloc_group_memdev, (void** pointers, armci_size_t bytes, ARMCI_Group* group, const char* device))
RMQ_ARMCI_FN(int, Free_memdev, (void* pointer))
RMQ_ARMCI_FN(void*, Malloc_local, (armci_size_t bytes))
RMQ_ARMCI_FN(int, Free_local, (void* pointer))
RMQ_ARMCI_FN(void, Access_begin, (void* pointer))
RMQ_ARMCI_FN(void, Access_end, (void* pointer))
RMQ_ARMCI_FN(void, Copy, (void* src, void* dst, int bytes))

/* Order and completion. */
RMQ_ARMCI_FN(void, Barrier, (void))
RMQ_ARMCI_FN(void, Fence, (int proc))
RMQ_ARMCI_FN(void, AllFence, (void))
RMQ_ARMCI_FN(int, Wait, (armci_hdl_t * handle))
RMQ_ARMCI_FN(int, Test, (armci_hdl_t * handle)) /* 0: complete; 1: not yet */
RMQ_ARMCI_FN(int, WaitProc, (int proc))
RMQ_ARMCI_FN(int, WaitAll, (void))
RMQ_ARMCI_FN(void, INIT_HANDLE, (armci_hdl_t * handle))
RMQ_ARMCI_FN(void, SET_AGGREGATE_HANDLE, (armci_hdl_t * handle))
RMQ_ARMCI_FN(void, UNSET_AGGREGATE_HANDLE, (armci_hdl_t * handle))

/* Operations. The blocking ones return when the memory of this process is free, and results are there. */
RMQ_ARMCI_FN(int, Put, (void* src, void* dst, int bytes, int proc))
RMQ_ARMCI_FN(int, Get, (void* src, void* dst, int bytes, int proc))
RMQ_ARMCI_FN(int, Acc, (int type, void* scale, void* src, void* dst, int bytes, int proc))
RMQ_ARMCI_FN(int, PutS, (RMQ_ARMCI_STRIDED, int proc))
RMQ_ARMCI_FN(int, GetS, (RMQ_ARMCI_STRIDED, int proc))
RMQ_ARMCI_FN(int, AccS, (int type, void* scale, RMQ_ARMCI_STRIDED, int proc))
RMQ_ARMCI_FN(int, PutV, (armci_giov_t * vectors, int number, int proc))
RMQ_ARMCI_FN(int, GetV, (armci_giov_t * vectors, int number, int proc))
RMQ_ARMCI_FN(int, AccV, (int type, void* scale, armci_giov_t* vectors, int number, int proc))
RMQ_ARMCI_FN(int, NbPut, (void* src, void* dst, int bytes, int proc, armci_hdl_t* handle))
RMQ_ARMCI_FN(int, NbGet, (void* src, void* dst, int bytes, int proc, armci_hdl_t* handle))
RMQ_ARMCI_FN(int, NbAcc, (int type, void* scale, void* src, void* dst, int bytes, int proc, armci_hdl_t* handle))
RMQ_ARMCI_FN(int, NbPutS, (RMQ_ARMCI_STRIDED, int proc, armci_hdl_t* handle))
RMQ_ARMCI_FN(int, NbGetS, (RMQ_ARMCI_STRIDED, int proc, armci_hdl_t* handle))
RMQ_ARMCI_FN(int, NbAccS, (int type, void* scale, RMQ_ARMCI_STRIDED, int proc, armci_hdl_t* handle))
RMQ_ARMCI_FN(int, NbPutV, (armci_giov_t * vectors, int number, int proc, armci_hdl_t* handle))
RMQ_ARMCI_FN(int, NbGetV, (armci_giov_t * vectors, int number, int proc, armci_hdl_t* handle))
RMQ_ARMCI_FN(int, NbAccV, (int type, void* scale, armci_giov_t* vectors, int number, int proc, armci_hdl_t* handle))
/* The flag is there no sooner than the data. */
RMQ_ARMCI_FN(int, Put_flag, (void* src, void* dst, int bytes, int* flag, int value, int proc))
RMQ_ARMCI_FN(int, PutS_flag, (RMQ_ARMCI_STRIDED, int* flag, int value, int proc))
#define RMQ_ARMCI_VALUE(name, type)                                                           \
  RMQ_ARMCI_FN(int, PutValue##name, (type value, void* dst, int proc))                        \
  RMQ_ARMCI_FN(int, NbPutValue##name, (type value, void* dst, int proc, armci_hdl_t* handle)) \
  RMQ_ARMCI_FN(type, GetValue##name, (void* src, int proc))
RMQ_ARMCI_VALUE(Int, int)
RMQ_ARMCI_VALUE(Long, long)
RMQ_ARMCI_VALUE(Float, float)
RMQ_ARMCI_VALUE(Double, double)
#undef RMQ_ARMCI_VALUE
RMQ_ARMCI_FN(int, Rmw, (int op, void* ploc, void* prem, int value, int proc))

/* Mutexes: `count` at this process; each process may bring another number. Creating and destroying is collective. */
RMQ_ARMCI_FN(int, Create_mutexes, (int count))
RMQ_ARMCI_FN(int, Destroy_mutexes, (void))
RMQ_ARMCI_FN(void, Lock, (int mutex, int proc))
RMQ_ARMCI_FN(void, Unlock, (int mutex, int proc))

/* Groups. Processes are numbered as in the parent, which is the default group where none is named; members alone have
 * to call. For others the group is -1. */
RMQ_ARMCI_FN(void, Group_create, (int count, int* members, ARMCI_Group* group))
RMQ_ARMCI_FN(void, Group_create_child, (int count, int* members, ARMCI_Group* group, ARMCI_Group* parent))
RMQ_ARMCI_FN(void, Group_free, (ARMCI_Group * group))
RMQ_ARMCI_FN(int, Group_rank, (ARMCI_Group * group, int* rank)) /* -1, and 1 is returned: no member */
RMQ_ARMCI_FN(void, Group_size, (ARMCI_Group * group, int* size))
RMQ_ARMCI_FN(void, Group_set_default, (ARMCI_Group * group))
RMQ_ARMCI_FN(void, Group_get_default, (ARMCI_Group * group))
RMQ_ARMCI_FN(void, Group_get_world, (ARMCI_Group * group))
RMQ_ARMCI_FN(int, Absolute_id, (ARMCI_Group * group, int rank))

/* Who is where. The addresses of another process are its own: they are not to be followed here, even on its host. */
RMQ_ARMCI_FN(int, Same_node, (int proc))
RMQ_ARMCI_FN(int, Uses_shm, (void))
RMQ_ARMCI_FN(int, Uses_shm_grp, (ARMCI_Group * group))
RMQ_ARMCI_FN(void, Set_shm_limit, (unsigned long bytes))
#undef RMQ_ARMCI_FN
#undef RMQ_ARMCI_STRIDED

MPI_Comm armci_group_comm(ARMCI_Group* group);
void armci_write_strided(void* ptr, int levels, int* stride, int* count, char* buf); /* to buf, one behind the other */
void armci_read_strided(void* ptr, int levels, int* stride, int* count, char* buf);

/* Domains: each process is one by itself. */
enum armci_domain_e { ARMCI_DOMAIN_SMP };
typedef int armci_domain_t;
int armci_domain_nprocs(armci_domain_t domain, int id);
int armci_domain_id(armci_domain_t domain, int proc);
int armci_domain_glob_proc_id(armci_domain_t domain, int id, int proc);
int armci_domain_my_id(armci_domain_t domain);
int armci_domain_count(armci_domain_t domain);
int armci_domain_same_id(armci_domain_t domain, int proc);

/* Messages and collectives. SCOPE_NODE is this process alone; `op` is +, *, max, min, absmax, absmin or or. */
enum armci_scope_e { SCOPE_ALL, SCOPE_NODE, SCOPE_MASTERS };
enum armci_type_e { ARMCI_INT, ARMCI_LONG, ARMCI_LONG_LONG, ARMCI_FLOAT, ARMCI_DOUBLE };
int armci_msg_me(void);
int armci_msg_nproc(void);
void armci_msg_abort(int code);
double armci_timer(void);
void armci_msg_snd(int tag, void* buffer, int bytes, int to);
void armci_msg_rcv(int tag, void* buffer, int room, int* bytes, int from);
int armci_msg_rcvany(int tag, void* buffer, int room, int* bytes); /* whom it is from */
void armci_msg_barrier(void);
void parmci_msg_barrier(void);
void armci_msg_group_barrier(ARMCI_Group* group);
void parmci_msg_group_barrier(ARMCI_Group* group);
void armci_msg_bintree(int scope, int* root, int* up, int* left, int* right);
void armci_msg_bcast(void* buffer, int bytes, int root);
void armci_msg_brdcst(void* buffer, int bytes, int root);
void armci_msg_bcast_scope(int scope, void* buffer, int bytes, int root);
void armci_msg_group_bcast_scope(int scope, void* buffer, int bytes, int root, ARMCI_Group* group);
void armci_exchange_address(void** pointers, int count);
void armci_exchange_address_grp(void** pointers, int count, ARMCI_Group* group);
/* The extreme of the numbers at the begin of the `n` bytes at `x`, and the rest of those of whoever brought it. */
void armci_msg_sel(void* x, int n, char* op, int type, int contribute);
void armci_msg_sel_scope(int scope, void* x, int n, char* op, int type, int contribute);
void armci_msg_gop_scope(int scope, void* x, int n, char* op, int type);
void armci_msg_group_gop_scope(int scope, void* x, int n, char* op, int type, ARMCI_Group* group);
void armci_msg_reduce(void* x, int n, char* op, int type);
void armci_msg_reduce_scope(int scope, void* x, int n, char* op, int type);
#define RMQ_ARMCI_GOP(name, type)                  \
  void armci_msg_##name(type* x, int n, char* op); \
  void armci_msg_group_##name(type* x, int n, char* op, ARMCI_Group* group);
RMQ_ARMCI_GOP(igop, int)
RMQ_ARMCI_GOP(lgop, long)
RMQ_ARMCI_GOP(llgop, long long)
RMQ_ARMCI_GOP(fgop, float)
RMQ_ARMCI_GOP(dgop, double)
#undef RMQ_ARMCI_GOP

#ifdef __cplusplus
}
#endif

#endif
