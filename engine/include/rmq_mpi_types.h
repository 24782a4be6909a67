/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rmq_mpi_types.h: the handles, constants and types of mpi.h, in the binary interface of MPICH (libmpich.so.12, 64-bit
 * Linux). Programs include mpi.h; the parts of RMQ that speak of communicators and error classes without being MPI's
 * face include this alone.
 *
 * Every number and layout below is part of that interface, so none may change: a program built against another header
 * of the same interface runs with this library, and the other way round. tests/abi/ compares all of them with an
 * installed MPICH. What MPICH 4.0 does not have yet has the numbers of MPICH 4.3.
 */
#ifndef RMQ_MPI_TYPES_H
#define RMQ_MPI_TYPES_H

#ifdef __cplusplus
#define RMQ_MPI_VALUE(type, value) (static_cast<type>(value))
#define RMQ_MPI_ADDRESS(type, value) (reinterpret_cast<type>(value))
extern "C" {
#else
#define RMQ_MPI_VALUE(type, value) ((type)(value))
#define RMQ_MPI_ADDRESS(type, value) ((type)(value))
#endif

#ifdef __GNUC__
#define RMQ_MPI_PUBLIC __attribute__((visibility("default")))
#else
#define RMQ_MPI_PUBLIC
#endif

/* ---- Plain types ---- */

typedef long MPI_Aint;   /* an address or a distance between two, bytes */
typedef long MPI_Offset; /* a place in a file */
typedef long MPI_Count;  /* large enough for either, and for any count */
typedef int MPI_Fint;    /* the INTEGER of Fortran */

#define MPI_AINT_FMT_DEC_SPEC "%ld"
#define MPI_AINT_FMT_HEX_SPEC "%lx"

/* ---- Handles ---- */

/* An int: kind of storage in bits 30-31 (1 = predefined), kind of object in bits 26-29, the rest tells them apart. */
typedef int MPI_Comm;
typedef int MPI_Group;
typedef int MPI_Datatype;
typedef int MPI_Op;
typedef int MPI_Request;
typedef int MPI_Message;
typedef int MPI_Errhandler;
typedef int MPI_Info;
typedef int MPI_Win;
typedef int MPI_Session;
/* Alone a pointer. The tag is of the interface as well: C++ writes it into the names of functions that take one. */
typedef struct ADIOI_FileD* MPI_File;

#define MPI_COMM_NULL RMQ_MPI_VALUE(MPI_Comm, 0x04000000)
#define MPI_COMM_WORLD RMQ_MPI_VALUE(MPI_Comm, 0x44000000)
#define MPI_COMM_SELF RMQ_MPI_VALUE(MPI_Comm, 0x44000001)

#define MPI_GROUP_NULL RMQ_MPI_VALUE(MPI_Group, 0x08000000)
#define MPI_GROUP_EMPTY RMQ_MPI_VALUE(MPI_Group, 0x48000000)

#define MPI_REQUEST_NULL RMQ_MPI_VALUE(MPI_Request, 0x2c000000)
#define MPI_MESSAGE_NULL RMQ_MPI_VALUE(MPI_Message, 0x2c000000)
#define MPI_MESSAGE_NO_PROC RMQ_MPI_VALUE(MPI_Message, 0x6c000000)

#define MPI_ERRHANDLER_NULL RMQ_MPI_VALUE(MPI_Errhandler, 0x14000000)
#define MPI_ERRORS_ARE_FATAL RMQ_MPI_VALUE(MPI_Errhandler, 0x54000000)
#define MPI_ERRORS_RETURN RMQ_MPI_VALUE(MPI_Errhandler, 0x54000001)
#define MPI_ERRORS_ABORT RMQ_MPI_VALUE(MPI_Errhandler, 0x54000003)

#define MPI_INFO_NULL RMQ_MPI_VALUE(MPI_Info, 0x1c000000)
#define MPI_INFO_ENV RMQ_MPI_VALUE(MPI_Info, 0x5c000001)

#define MPI_WIN_NULL RMQ_MPI_VALUE(MPI_Win, 0x20000000)
#define MPI_SESSION_NULL RMQ_MPI_VALUE(MPI_Session, 0x38000000)
#define MPI_FILE_NULL RMQ_MPI_VALUE(MPI_File, 0)

/* ---- Reduction operators ---- */

#define MPI_OP_NULL RMQ_MPI_VALUE(MPI_Op, 0x18000000)
#define MPI_MAX RMQ_MPI_VALUE(MPI_Op, 0x58000001)
#define MPI_MIN RMQ_MPI_VALUE(MPI_Op, 0x58000002)
#define MPI_SUM RMQ_MPI_VALUE(MPI_Op, 0x58000003)
#define MPI_PROD RMQ_MPI_VALUE(MPI_Op, 0x58000004)
#define MPI_LAND RMQ_MPI_VALUE(MPI_Op, 0x58000005)
#define MPI_BAND RMQ_MPI_VALUE(MPI_Op, 0x58000006)
#define MPI_LOR RMQ_MPI_VALUE(MPI_Op, 0x58000007)
#define MPI_BOR RMQ_MPI_VALUE(MPI_Op, 0x58000008)
#define MPI_LXOR RMQ_MPI_VALUE(MPI_Op, 0x58000009)
#define MPI_BXOR RMQ_MPI_VALUE(MPI_Op, 0x5800000a)
#define MPI_MINLOC RMQ_MPI_VALUE(MPI_Op, 0x5800000b)
#define MPI_MAXLOC RMQ_MPI_VALUE(MPI_Op, 0x5800000c)
#define MPI_REPLACE RMQ_MPI_VALUE(MPI_Op, 0x5800000d)
#define MPI_NO_OP RMQ_MPI_VALUE(MPI_Op, 0x5800000e)

/* ---- Predefined datatypes ---- */

/* Where the handle starts with 0x4c, bits 8-15 are the size in bytes. */
#define MPI_DATATYPE_NULL RMQ_MPI_VALUE(MPI_Datatype, 0x0c000000)

/* C. */
#define MPI_CHAR RMQ_MPI_VALUE(MPI_Datatype, 0x4c000101)
#define MPI_SIGNED_CHAR RMQ_MPI_VALUE(MPI_Datatype, 0x4c000118)
#define MPI_UNSIGNED_CHAR RMQ_MPI_VALUE(MPI_Datatype, 0x4c000102)
#define MPI_WCHAR RMQ_MPI_VALUE(MPI_Datatype, 0x4c00040e)
#define MPI_SHORT RMQ_MPI_VALUE(MPI_Datatype, 0x4c000203)
#define MPI_UNSIGNED_SHORT RMQ_MPI_VALUE(MPI_Datatype, 0x4c000204)
#define MPI_INT RMQ_MPI_VALUE(MPI_Datatype, 0x4c000405)
#define MPI_UNSIGNED RMQ_MPI_VALUE(MPI_Datatype, 0x4c000406)
#define MPI_LONG RMQ_MPI_VALUE(MPI_Datatype, 0x4c000807)
#define MPI_UNSIGNED_LONG RMQ_MPI_VALUE(MPI_Datatype, 0x4c000808)
#define MPI_LONG_LONG_INT RMQ_MPI_VALUE(MPI_Datatype, 0x4c000809)
#define MPI_LONG_LONG MPI_LONG_LONG_INT
#define MPI_UNSIGNED_LONG_LONG RMQ_MPI_VALUE(MPI_Datatype, 0x4c000819)
#define MPI_FLOAT RMQ_MPI_VALUE(MPI_Datatype, 0x4c00040a)
#define MPI_DOUBLE RMQ_MPI_VALUE(MPI_Datatype, 0x4c00080b)
#define MPI_LONG_DOUBLE RMQ_MPI_VALUE(MPI_Datatype, 0x4c00100c)
#define MPI_C_BOOL RMQ_MPI_VALUE(MPI_Datatype, 0x4c00013f)
#define MPI_C_FLOAT_COMPLEX RMQ_MPI_VALUE(MPI_Datatype, 0x4c000840)
#define MPI_C_COMPLEX MPI_C_FLOAT_COMPLEX
#define MPI_C_DOUBLE_COMPLEX RMQ_MPI_VALUE(MPI_Datatype, 0x4c001041)
#define MPI_C_LONG_DOUBLE_COMPLEX RMQ_MPI_VALUE(MPI_Datatype, 0x4c002042)
#define MPIX_C_FLOAT16 RMQ_MPI_VALUE(MPI_Datatype, 0x4c000246)

/* C, fixed width. */
#define MPI_INT8_T RMQ_MPI_VALUE(MPI_Datatype, 0x4c000137)
#define MPI_INT16_T RMQ_MPI_VALUE(MPI_Datatype, 0x4c000238)
#define MPI_INT32_T RMQ_MPI_VALUE(MPI_Datatype, 0x4c000439)
#define MPI_INT64_T RMQ_MPI_VALUE(MPI_Datatype, 0x4c00083a)
#define MPI_UINT8_T RMQ_MPI_VALUE(MPI_Datatype, 0x4c00013b)
#define MPI_UINT16_T RMQ_MPI_VALUE(MPI_Datatype, 0x4c00023c)
#define MPI_UINT32_T RMQ_MPI_VALUE(MPI_Datatype, 0x4c00043d)
#define MPI_UINT64_T RMQ_MPI_VALUE(MPI_Datatype, 0x4c00083e)

/* C++. */
#define MPI_CXX_BOOL RMQ_MPI_VALUE(MPI_Datatype, 0x4c000133)
#define MPI_CXX_FLOAT_COMPLEX RMQ_MPI_VALUE(MPI_Datatype, 0x4c000834)
#define MPI_CXX_DOUBLE_COMPLEX RMQ_MPI_VALUE(MPI_Datatype, 0x4c001035)
#define MPI_CXX_LONG_DOUBLE_COMPLEX RMQ_MPI_VALUE(MPI_Datatype, 0x4c002036)

/* MPI's own. */
#define MPI_BYTE RMQ_MPI_VALUE(MPI_Datatype, 0x4c00010d)
#define MPI_PACKED RMQ_MPI_VALUE(MPI_Datatype, 0x4c00010f)
#define MPI_AINT RMQ_MPI_VALUE(MPI_Datatype, 0x4c000843)
#define MPI_OFFSET RMQ_MPI_VALUE(MPI_Datatype, 0x4c000844)
#define MPI_COUNT RMQ_MPI_VALUE(MPI_Datatype, 0x4c000845)
#define MPI_LB RMQ_MPI_VALUE(MPI_Datatype, 0x4c000010)
#define MPI_UB RMQ_MPI_VALUE(MPI_Datatype, 0x4c000011)

/* A value and an int beside it, for MPI_MINLOC and MPI_MAXLOC. */
#define MPI_2INT RMQ_MPI_VALUE(MPI_Datatype, 0x4c000816)
#define MPI_FLOAT_INT RMQ_MPI_VALUE(MPI_Datatype, 0x8c000000)
#define MPI_DOUBLE_INT RMQ_MPI_VALUE(MPI_Datatype, 0x8c000001)
#define MPI_LONG_INT RMQ_MPI_VALUE(MPI_Datatype, 0x8c000002)
#define MPI_SHORT_INT RMQ_MPI_VALUE(MPI_Datatype, 0x8c000003)
#define MPI_LONG_DOUBLE_INT RMQ_MPI_VALUE(MPI_Datatype, 0x8c000004)

/* Fortran. */
#define MPI_CHARACTER RMQ_MPI_VALUE(MPI_Datatype, 0x4c00011a)
#define MPI_LOGICAL RMQ_MPI_VALUE(MPI_Datatype, 0x4c00041d)
#define MPI_INTEGER RMQ_MPI_VALUE(MPI_Datatype, 0x4c00041b)
#define MPI_REAL RMQ_MPI_VALUE(MPI_Datatype, 0x4c00041c)
#define MPI_DOUBLE_PRECISION RMQ_MPI_VALUE(MPI_Datatype, 0x4c00081f)
#define MPI_COMPLEX RMQ_MPI_VALUE(MPI_Datatype, 0x4c00081e)
#define MPI_DOUBLE_COMPLEX RMQ_MPI_VALUE(MPI_Datatype, 0x4c001022)
#define MPI_2INTEGER RMQ_MPI_VALUE(MPI_Datatype, 0x4c000820)
#define MPI_2REAL RMQ_MPI_VALUE(MPI_Datatype, 0x4c000821)
#define MPI_2DOUBLE_PRECISION RMQ_MPI_VALUE(MPI_Datatype, 0x4c001023)
#define MPI_INTEGER1 RMQ_MPI_VALUE(MPI_Datatype, 0x4c00012d)
#define MPI_INTEGER2 RMQ_MPI_VALUE(MPI_Datatype, 0x4c00022f)
#define MPI_INTEGER4 RMQ_MPI_VALUE(MPI_Datatype, 0x4c000430)
#define MPI_INTEGER8 RMQ_MPI_VALUE(MPI_Datatype, 0x4c000831)
#define MPI_INTEGER16 MPI_DATATYPE_NULL
#define MPI_REAL4 RMQ_MPI_VALUE(MPI_Datatype, 0x4c000427)
#define MPI_REAL8 RMQ_MPI_VALUE(MPI_Datatype, 0x4c000829)
#define MPI_REAL16 RMQ_MPI_VALUE(MPI_Datatype, 0x4c00102b)
#define MPI_COMPLEX8 RMQ_MPI_VALUE(MPI_Datatype, 0x4c000828)
#define MPI_COMPLEX16 RMQ_MPI_VALUE(MPI_Datatype, 0x4c00102a)
#define MPI_COMPLEX32 RMQ_MPI_VALUE(MPI_Datatype, 0x4c00202c)

/* For MPI_Type_match_size. */
#define MPI_TYPECLASS_REAL 1
#define MPI_TYPECLASS_INTEGER 2
#define MPI_TYPECLASS_COMPLEX 3

/* How a derived type was made: MPI_Type_get_envelope. */
#define MPI_COMBINER_NAMED 1
#define MPI_COMBINER_DUP 2
#define MPI_COMBINER_CONTIGUOUS 3
#define MPI_COMBINER_VECTOR 4
#define MPI_COMBINER_HVECTOR_INTEGER 5
#define MPI_COMBINER_HVECTOR 6
#define MPI_COMBINER_INDEXED 7
#define MPI_COMBINER_HINDEXED_INTEGER 8
#define MPI_COMBINER_HINDEXED 9
#define MPI_COMBINER_INDEXED_BLOCK 10
#define MPI_COMBINER_STRUCT_INTEGER 11
#define MPI_COMBINER_STRUCT 12
#define MPI_COMBINER_SUBARRAY 13
#define MPI_COMBINER_DARRAY 14
#define MPI_COMBINER_F90_REAL 15
#define MPI_COMBINER_F90_COMPLEX 16
#define MPI_COMBINER_F90_INTEGER 17
#define MPI_COMBINER_RESIZED 18
#define MPI_COMBINER_HINDEXED_BLOCK 19
#define MPI_COMBINER_VALUE_INDEX 20

/* For subarrays and distributed arrays. */
#define MPI_ORDER_C 56
#define MPI_ORDER_FORTRAN 57
#define MPI_DISTRIBUTE_BLOCK 121
#define MPI_DISTRIBUTE_CYCLIC 122
#define MPI_DISTRIBUTE_NONE 123
#define MPI_DISTRIBUTE_DFLT_DARG (-49767)

/* ---- Statuses ---- */

/* The first two words belong to the library: the byte count (63 bits, low word first), and in the lowest bit of the
 * second word whether the operation was cancelled. */
typedef struct MPI_Status {
  int count_lo;
  int count_hi_and_cancelled;
  int MPI_SOURCE;
  int MPI_TAG;
  int MPI_ERROR;
} MPI_Status;

/* The same five words as Fortran 2008 sees them; older Fortran has an array, with these indices from 0. */
typedef struct {
  MPI_Fint count_lo;
  MPI_Fint count_hi_and_cancelled;
  MPI_Fint MPI_SOURCE;
  MPI_Fint MPI_TAG;
  MPI_Fint MPI_ERROR;
} MPI_F08_status;

#define MPI_F_STATUS_SIZE 5
#define MPI_F_SOURCE 2
#define MPI_F_TAG 3
#define MPI_F_ERROR 4

#define MPI_STATUS_IGNORE RMQ_MPI_ADDRESS(MPI_Status*, 1L)
#define MPI_STATUSES_IGNORE RMQ_MPI_ADDRESS(MPI_Status*, 1L)
extern RMQ_MPI_PUBLIC MPI_Fint* MPI_F_STATUS_IGNORE;
extern RMQ_MPI_PUBLIC MPI_Fint* MPI_F_STATUSES_IGNORE;
extern RMQ_MPI_PUBLIC MPI_F08_status* MPI_F08_STATUS_IGNORE;
extern RMQ_MPI_PUBLIC MPI_F08_status* MPI_F08_STATUSES_IGNORE;

/* ---- Special arguments and answers ---- */

#define MPI_BOTTOM RMQ_MPI_VALUE(void*, 0)
#define MPI_IN_PLACE RMQ_MPI_ADDRESS(void*, -1L)
#define MPI_BUFFER_AUTOMATIC RMQ_MPI_ADDRESS(void*, -2L)

#define MPI_PROC_NULL (-1)
#define MPI_ANY_SOURCE (-2)
#define MPI_ROOT (-3)
#define MPI_ANY_TAG (-1)
#define MPI_UNDEFINED (-32766)
#define MPI_KEYVAL_INVALID 0x24000000

#define MPI_ARGV_NULL RMQ_MPI_VALUE(char**, 0)
#define MPI_ARGVS_NULL RMQ_MPI_VALUE(char***, 0)
#define MPI_ERRCODES_IGNORE RMQ_MPI_VALUE(int*, 0)

extern RMQ_MPI_PUBLIC int* const MPI_UNWEIGHTED;
extern RMQ_MPI_PUBLIC int* const MPI_WEIGHTS_EMPTY;

/* What comparing two communicators or groups tells. */
#define MPI_IDENT 0
#define MPI_CONGRUENT 1
#define MPI_SIMILAR 2
#define MPI_UNEQUAL 3

/* Thread levels, each containing those before it. */
#define MPI_THREAD_SINGLE 0
#define MPI_THREAD_FUNNELED 1
#define MPI_THREAD_SERIALIZED 2
#define MPI_THREAD_MULTIPLE 3

/* What MPI_Topo_test answers. */
#define MPI_GRAPH 1
#define MPI_CART 2
#define MPI_DIST_GRAPH 3

/* What MPI_Comm_split_type splits by. */
#define MPI_COMM_TYPE_SHARED 1
#define MPI_COMM_TYPE_HW_GUIDED 2
#define MPI_COMM_TYPE_HW_UNGUIDED 3
#define MPI_COMM_TYPE_RESOURCE_GUIDED 4
#define MPIX_COMM_TYPE_NEIGHBORHOOD 5 /* 4 in programs built for MPICH 4.0, which are understood as well */

/* Bytes that MPI_Bsend adds to each message in the attached buffer, at most. */
#define MPI_BSEND_OVERHEAD 96

/* Room for strings, the final zero included, except in info keys. */
#define MPI_MAX_PROCESSOR_NAME 128
#define MPI_MAX_LIBRARY_VERSION_STRING 8192
#define MPI_MAX_ERROR_STRING 512
#define MPI_MAX_OBJECT_NAME 128
#define MPI_MAX_PORT_NAME 256
#define MPI_MAX_STRINGTAG_LEN 256
#define MPI_MAX_PSET_NAME_LEN 256
#define MPI_MAX_INFO_KEY 255
#define MPI_MAX_INFO_VAL 1024
#define MPI_MAX_DATAREP_STRING 128

/* ---- Predefined attributes ---- */

/* Odd: C gets a pointer to the value. The even number that follows is Fortran's key for the same attribute. */
#define MPI_TAG_UB 0x64400001
#define MPI_HOST 0x64400003
#define MPI_IO 0x64400005
#define MPI_WTIME_IS_GLOBAL 0x64400007
#define MPI_UNIVERSE_SIZE 0x64400009
#define MPI_LASTUSEDCODE 0x6440000b
#define MPI_APPNUM 0x6440000d

#define MPI_WIN_BASE 0x66000001
#define MPI_WIN_SIZE 0x66000003
#define MPI_WIN_DISP_UNIT 0x66000005
#define MPI_WIN_CREATE_FLAVOR 0x66000007
#define MPI_WIN_MODEL 0x66000009

/* ---- One-sided ---- */

#define MPI_WIN_FLAVOR_CREATE 1
#define MPI_WIN_FLAVOR_ALLOCATE 2
#define MPI_WIN_FLAVOR_DYNAMIC 3
#define MPI_WIN_FLAVOR_SHARED 4

#define MPI_WIN_SEPARATE 1
#define MPI_WIN_UNIFIED 2

#define MPI_LOCK_EXCLUSIVE 234
#define MPI_LOCK_SHARED 235

/* Assertions: bits. */
#define MPI_MODE_NOCHECK 1024
#define MPI_MODE_NOSTORE 2048
#define MPI_MODE_NOPUT 4096
#define MPI_MODE_NOPRECEDE 8192
#define MPI_MODE_NOSUCCEED 16384

/* ---- Files ---- */

/* Ways to open: bits. */
#define MPI_MODE_CREATE 1
#define MPI_MODE_RDONLY 2
#define MPI_MODE_WRONLY 4
#define MPI_MODE_RDWR 8
#define MPI_MODE_DELETE_ON_CLOSE 16
#define MPI_MODE_UNIQUE_OPEN 32
#define MPI_MODE_EXCL 64
#define MPI_MODE_APPEND 128
#define MPI_MODE_SEQUENTIAL 256

#define MPI_SEEK_SET 600
#define MPI_SEEK_CUR 602
#define MPI_SEEK_END 604
#define MPI_DISPLACEMENT_CURRENT (-54278278)

/* Names of the time when file requests were a type of their own. */
#define MPIO_Request MPI_Request
#define MPIO_REQUEST_NULL RMQ_MPI_VALUE(MPIO_Request, 0)
#define MPIO_Wait MPI_Wait
#define MPIO_Test MPI_Test
#define PMPIO_Wait PMPI_Wait
#define PMPIO_Test PMPI_Test

/* ---- Error classes ---- */

#define MPI_SUCCESS 0

/* A bad argument. */
#define MPI_ERR_BUFFER 1
#define MPI_ERR_COUNT 2
#define MPI_ERR_TYPE 3
#define MPI_ERR_TAG 4
#define MPI_ERR_COMM 5
#define MPI_ERR_RANK 6
#define MPI_ERR_ROOT 7
#define MPI_ERR_GROUP 8
#define MPI_ERR_OP 9
#define MPI_ERR_TOPOLOGY 10
#define MPI_ERR_DIMS 11
#define MPI_ERR_ARG 12
#define MPI_ERR_REQUEST 19
#define MPI_ERR_KEYVAL 48
#define MPI_ERR_SESSION 75
#define MPI_ERR_ERRHANDLER 80

/* What went wrong with a message or in the library. */
#define MPI_ERR_UNKNOWN 13
#define MPI_ERR_TRUNCATE 14
#define MPI_ERR_OTHER 15
#define MPI_ERR_INTERN 16
#define MPI_ERR_IN_STATUS 17
#define MPI_ERR_PENDING 18
#define MPI_ERR_NO_MEM 34
#define MPI_ERR_UNSUPPORTED_OPERATION 44
#define MPI_ERR_PROC_ABORTED 76
#define MPI_ERR_VALUE_TOO_LARGE 77

/* Files. */
#define MPI_ERR_ACCESS 20
#define MPI_ERR_AMODE 21
#define MPI_ERR_BAD_FILE 22
#define MPI_ERR_CONVERSION 23
#define MPI_ERR_DUP_DATAREP 24
#define MPI_ERR_FILE_EXISTS 25
#define MPI_ERR_FILE_IN_USE 26
#define MPI_ERR_FILE 27
#define MPI_ERR_IO 32
#define MPI_ERR_NOT_SAME 35
#define MPI_ERR_NO_SPACE 36
#define MPI_ERR_NO_SUCH_FILE 37
#define MPI_ERR_QUOTA 39
#define MPI_ERR_READ_ONLY 40
#define MPI_ERR_UNSUPPORTED_DATAREP 43

/* Info objects. */
#define MPI_ERR_INFO 28
#define MPI_ERR_INFO_KEY 29
#define MPI_ERR_INFO_VALUE 30
#define MPI_ERR_INFO_NOKEY 31

/* Dynamic processes. */
#define MPI_ERR_NAME 33
#define MPI_ERR_PORT 38
#define MPI_ERR_SERVICE 41
#define MPI_ERR_SPAWN 42

/* One-sided. */
#define MPI_ERR_WIN 45
#define MPI_ERR_BASE 46
#define MPI_ERR_LOCKTYPE 47
#define MPI_ERR_RMA_CONFLICT 49
#define MPI_ERR_RMA_SYNC 50
#define MPI_ERR_SIZE 51
#define MPI_ERR_DISP 52
#define MPI_ERR_ASSERT 53
#define MPI_ERR_RMA_RANGE 55
#define MPI_ERR_RMA_ATTACH 56
#define MPI_ERR_RMA_SHARED 57
#define MPI_ERR_RMA_FLAVOR 58

/* Tools. */
#define MPI_T_ERR_MEMORY 59
#define MPI_T_ERR_NOT_INITIALIZED 60
#define MPI_T_ERR_CANNOT_INIT 61
#define MPI_T_ERR_INVALID_INDEX 62
#define MPI_T_ERR_INVALID_ITEM 63
#define MPI_T_ERR_INVALID_HANDLE 64
#define MPI_T_ERR_OUT_OF_HANDLES 65
#define MPI_T_ERR_OUT_OF_SESSIONS 66
#define MPI_T_ERR_INVALID_SESSION 67
#define MPI_T_ERR_CVAR_SET_NOT_NOW 68
#define MPI_T_ERR_CVAR_SET_NEVER 69
#define MPI_T_ERR_PVAR_NO_STARTSTOP 70
#define MPI_T_ERR_PVAR_NO_WRITE 71
#define MPI_T_ERR_PVAR_NO_ATOMIC 72
#define MPI_T_ERR_INVALID_NAME 73
#define MPI_T_ERR_INVALID 74
#define MPI_T_ERR_NOT_SUPPORTED 78
#define MPI_T_ERR_NOT_ACCESSIBLE 79

/* Extensions: failed processes, revoked communicators, requests that cannot be had. */
#define MPIX_ERR_PROC_FAILED 101
#define MPIX_ERR_PROC_FAILED_PENDING 102
#define MPIX_ERR_REVOKED 103
#define MPIX_ERR_EAGAIN 104
#define MPIX_ERR_NOREQ 105

/* No predefined error has a larger number. */
#define MPI_ERR_LASTCODE 0x3fffffff

/* ---- Functions that the program provides ---- */

typedef void(MPI_User_function)(void*, void*, int*, MPI_Datatype*);
typedef void(MPI_User_function_c)(void*, void*, MPI_Count*, MPI_Datatype*);

typedef void(MPI_Comm_errhandler_function)(MPI_Comm*, int*, ...);
typedef void(MPI_Win_errhandler_function)(MPI_Win*, int*, ...);
typedef void(MPI_File_errhandler_function)(MPI_File*, int*, ...);
typedef void(MPI_Session_errhandler_function)(MPI_Session*, int*, ...);

typedef int(MPI_Comm_copy_attr_function)(MPI_Comm, int, void*, void*, void*, int*);
typedef int(MPI_Comm_delete_attr_function)(MPI_Comm, int, void*, void*);
typedef int(MPI_Type_copy_attr_function)(MPI_Datatype, int, void*, void*, void*, int*);
typedef int(MPI_Type_delete_attr_function)(MPI_Datatype, int, void*, void*);
typedef int(MPI_Win_copy_attr_function)(MPI_Win, int, void*, void*, void*, int*);
typedef int(MPI_Win_delete_attr_function)(MPI_Win, int, void*, void*);

typedef int(MPI_Grequest_query_function)(void*, MPI_Status*);
typedef int(MPI_Grequest_free_function)(void*);
typedef int(MPI_Grequest_cancel_function)(void*, int);
typedef int(MPIX_Grequest_poll_function)(void*, MPI_Status*);
typedef int(MPIX_Grequest_wait_function)(int, void**, double, MPI_Status*);
typedef int MPIX_Grequest_class;

typedef int(MPI_Datarep_extent_function)(MPI_Datatype, MPI_Aint*, void*);
typedef int(MPI_Datarep_conversion_function)(void*, MPI_Datatype, int, void*, MPI_Offset, void*);
typedef int(MPI_Datarep_conversion_function_c)(void*, MPI_Datatype, MPI_Count, void*, MPI_Offset, void*);
#define MPI_CONVERSION_FN_NULL RMQ_MPI_VALUE(MPI_Datarep_conversion_function*, 0)
#define MPI_CONVERSION_FN_NULL_C RMQ_MPI_VALUE(MPI_Datarep_conversion_function_c*, 0)

/* Their names in MPI-1 and MPI-2.0. */
typedef void(MPI_Handler_function)(MPI_Comm*, int*, ...);
typedef int(MPI_Copy_function)(MPI_Comm, int, void*, void*, void*, int*);
typedef int(MPI_Delete_function)(MPI_Comm, int, void*, void*);
typedef MPI_Comm_errhandler_function MPI_Comm_errhandler_fn;
typedef MPI_Win_errhandler_function MPI_Win_errhandler_fn;
typedef MPI_File_errhandler_function MPI_File_errhandler_fn;
typedef MPI_Session_errhandler_function MPI_Session_errhandler_fn;

/* Predefined ones for attributes: copy nothing, delete nothing, copy the pointer. The last is one function for all. */
RMQ_MPI_PUBLIC int MPIR_Dup_fn(MPI_Comm oldcomm, int keyval, void* extra_state, void* attribute_val_in,
                               void* attribute_val_out, int* flag);
#define MPI_DUP_FN MPIR_Dup_fn
#define MPI_NULL_COPY_FN RMQ_MPI_VALUE(MPI_Copy_function*, 0)
#define MPI_NULL_DELETE_FN RMQ_MPI_VALUE(MPI_Delete_function*, 0)
#define MPI_COMM_DUP_FN RMQ_MPI_VALUE(MPI_Comm_copy_attr_function*, MPI_DUP_FN)
#define MPI_COMM_NULL_COPY_FN RMQ_MPI_VALUE(MPI_Comm_copy_attr_function*, 0)
#define MPI_COMM_NULL_DELETE_FN RMQ_MPI_VALUE(MPI_Comm_delete_attr_function*, 0)
#define MPI_TYPE_DUP_FN RMQ_MPI_VALUE(MPI_Type_copy_attr_function*, MPI_DUP_FN)
#define MPI_TYPE_NULL_COPY_FN RMQ_MPI_VALUE(MPI_Type_copy_attr_function*, 0)
#define MPI_TYPE_NULL_DELETE_FN RMQ_MPI_VALUE(MPI_Type_delete_attr_function*, 0)
#define MPI_WIN_DUP_FN RMQ_MPI_VALUE(MPI_Win_copy_attr_function*, MPI_DUP_FN)
#define MPI_WIN_NULL_COPY_FN RMQ_MPI_VALUE(MPI_Win_copy_attr_function*, 0)
#define MPI_WIN_NULL_DELETE_FN RMQ_MPI_VALUE(MPI_Win_delete_attr_function*, 0)

/* ---- Tools ---- */

typedef struct MPIR_T_enum_s* MPI_T_enum;
typedef struct MPIR_T_cvar_handle_s* MPI_T_cvar_handle;
typedef struct MPIR_T_pvar_handle_s* MPI_T_pvar_handle;
typedef struct MPIR_T_pvar_session_s* MPI_T_pvar_session;
typedef struct MPIR_T_event_registration_s* MPI_T_event_registration;
typedef struct MPIR_T_event_instance_s* MPI_T_event_instance;

#define MPI_T_ENUM_NULL RMQ_MPI_VALUE(MPI_T_enum, 0)
#define MPI_T_CVAR_HANDLE_NULL RMQ_MPI_VALUE(MPI_T_cvar_handle, 0)
#define MPI_T_PVAR_HANDLE_NULL RMQ_MPI_VALUE(MPI_T_pvar_handle, 0)
#define MPI_T_PVAR_SESSION_NULL RMQ_MPI_VALUE(MPI_T_pvar_session, 0)
extern RMQ_MPI_PUBLIC struct MPIR_T_pvar_handle_s* const MPI_T_PVAR_ALL_HANDLES;

/* For whom a variable is: users, those who tune, those who write the library; three degrees of detail each. */
#define MPI_T_VERBOSITY_INVALID 0
#define MPI_T_VERBOSITY_USER_BASIC 221
#define MPI_T_VERBOSITY_USER_DETAIL 222
#define MPI_T_VERBOSITY_USER_ALL 223
#define MPI_T_VERBOSITY_TUNER_BASIC 224
#define MPI_T_VERBOSITY_TUNER_DETAIL 225
#define MPI_T_VERBOSITY_TUNER_ALL 226
#define MPI_T_VERBOSITY_MPIDEV_BASIC 227
#define MPI_T_VERBOSITY_MPIDEV_DETAIL 228
#define MPI_T_VERBOSITY_MPIDEV_ALL 229

/* What kind of object a variable hangs on. */
#define MPI_T_BIND_INVALID 0
#define MPI_T_BIND_NO_OBJECT 9700
#define MPI_T_BIND_MPI_COMM 9701
#define MPI_T_BIND_MPI_DATATYPE 9702
#define MPI_T_BIND_MPI_ERRHANDLER 9703
#define MPI_T_BIND_MPI_FILE 9704
#define MPI_T_BIND_MPI_GROUP 9705
#define MPI_T_BIND_MPI_OP 9706
#define MPI_T_BIND_MPI_REQUEST 9707
#define MPI_T_BIND_MPI_WIN 9708
#define MPI_T_BIND_MPI_MESSAGE 9709
#define MPI_T_BIND_MPI_INFO 9710
#define MPI_T_BIND_MPI_SESSION 9711

/* Who must set a control variable alike. */
#define MPI_T_SCOPE_INVALID 0
#define MPI_T_SCOPE_CONSTANT 60438
#define MPI_T_SCOPE_READONLY 60439
#define MPI_T_SCOPE_LOCAL 60440
#define MPI_T_SCOPE_GROUP 60441
#define MPI_T_SCOPE_GROUP_EQ 60442
#define MPI_T_SCOPE_ALL 60443
#define MPI_T_SCOPE_ALL_EQ 60444

/* What a performance variable measures. */
#define MPI_T_PVAR_CLASS_INVALID 0
#define MPI_T_PVAR_CLASS_STATE 240
#define MPI_T_PVAR_CLASS_LEVEL 241
#define MPI_T_PVAR_CLASS_SIZE 242
#define MPI_T_PVAR_CLASS_PERCENTAGE 243
#define MPI_T_PVAR_CLASS_HIGHWATERMARK 244
#define MPI_T_PVAR_CLASS_LOWWATERMARK 245
#define MPI_T_PVAR_CLASS_COUNTER 246
#define MPI_T_PVAR_CLASS_AGGREGATE 247
#define MPI_T_PVAR_CLASS_TIMER 248
#define MPI_T_PVAR_CLASS_GENERIC 249

/* What a callback may do in the place where it is called. */
typedef enum MPI_T_cb_safety {
  MPI_T_CB_REQUIRE_NONE = 0,
  MPI_T_CB_REQUIRE_MPI_RESTRICTED = 1,
  MPI_T_CB_REQUIRE_THREAD_SAFE = 2,
  MPI_T_CB_REQUIRE_ASYNC_SIGNAL_SAFE = 3
} MPI_T_cb_safety;

/* Whether the time stamps of a source only grow. */
typedef enum MPI_T_source_order { MPI_T_SOURCE_ORDERED = 0, MPI_T_SOURCE_UNORDERED = 1 } MPI_T_source_order;

typedef void(MPI_T_event_cb_function)(MPI_T_event_instance event_instance, MPI_T_event_registration event_registration,
                                      MPI_T_cb_safety cb_safety, void* user_data);
typedef void(MPI_T_event_free_cb_function)(MPI_T_event_registration event_registration, MPI_T_cb_safety cb_safety,
                                           void* user_data);
typedef void(MPI_T_event_dropped_cb_function)(MPI_Count count, MPI_T_event_registration event_registration,
                                              int source_index, MPI_T_cb_safety cb_safety, void* user_data);

/* What MPIX_GPU_query_support can be asked about. */
#define MPIX_GPU_SUPPORT_CUDA 0
#define MPIX_GPU_SUPPORT_ZE 1
#define MPIX_GPU_SUPPORT_HIP 2

#ifdef __cplusplus
}
#endif

#endif
