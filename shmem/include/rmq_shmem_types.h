/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rmq_shmem_types.h: the types that OpenSHMEM's families of functions have, each family once.
 *
 * RMQ_SHMEM_<FAMILY>(F, X) expands to F(NAME, TYPE, X) for each of its types: NAME as it stands in the functions'
 * names, and X whatever F wants, as the rest of the name. A type with several names has a function for each;
 * RMQ_SHMEM_<FAMILY>_C has each type of C once, for generic selection.
 */
#ifndef RMQ_SHMEM_TYPES_H
#define RMQ_SHMEM_TYPES_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#include <complex>
__extension__ typedef float _Complex rmq_shmem_complexf;
__extension__ typedef double _Complex rmq_shmem_complexd;
#else
typedef float _Complex rmq_shmem_complexf;
typedef double _Complex rmq_shmem_complexd;
#endif

/* clang-format off */
/* Types of C that are integers, and their names of fixed width. */
#define RMQ_SHMEM_WORDS_C(F, X) \
  F(int, int, X) F(long, long, X) F(longlong, long long, X) F(uint, unsigned int, X) F(ulong, unsigned long, X) F(ulonglong, unsigned long long, X)
#define RMQ_SHMEM_WORDS_FIXED(F, X) F(int32, int32_t, X) F(int64, int64_t, X) F(uint32, uint32_t, X) F(uint64, uint64_t, X)
#define RMQ_SHMEM_SIZES(F, X) F(size, size_t, X) F(ptrdiff, ptrdiff_t, X)

/* Remote memory access, and collectives that move data. */
#define RMQ_SHMEM_RMA_C(F, X) \
  F(float, float, X) F(double, double, X) F(longdouble, long double, X) F(char, char, X) F(schar, signed char, X) F(short, short, X) \
  F(uchar, unsigned char, X) F(ushort, unsigned short, X) RMQ_SHMEM_WORDS_C(F, X)
#define RMQ_SHMEM_RMA(F, X) \
  RMQ_SHMEM_RMA_C(F, X) F(int8, int8_t, X) F(int16, int16_t, X) F(uint8, uint8_t, X) F(uint16, uint16_t, X) RMQ_SHMEM_WORDS_FIXED(F, X) \
  RMQ_SHMEM_SIZES(F, X)

/* The same by bits; RMQ_SHMEM_BITS(F, X) is F(NAME, BYTES, X). */
#define RMQ_SHMEM_BITS(F, X) F(8, 1, X) F(16, 2, X) F(32, 4, X) F(64, 8, X) F(128, 16, X)

/* Atomic operations: compare_swap, inc, add. */
#define RMQ_SHMEM_AMO_C(F, X) RMQ_SHMEM_WORDS_C(F, X)
#define RMQ_SHMEM_AMO(F, X) RMQ_SHMEM_AMO_C(F, X) RMQ_SHMEM_WORDS_FIXED(F, X) RMQ_SHMEM_SIZES(F, X)
/* And: fetch, set, swap. */
#define RMQ_SHMEM_AMO_EXTENDED_C(F, X) F(float, float, X) F(double, double, X) RMQ_SHMEM_AMO_C(F, X)
#define RMQ_SHMEM_AMO_EXTENDED(F, X) F(float, float, X) F(double, double, X) RMQ_SHMEM_AMO(F, X)
/* And: and, or, xor. */
#define RMQ_SHMEM_AMO_BITWISE_C(F, X) \
  F(uint, unsigned int, X) F(ulong, unsigned long, X) F(ulonglong, unsigned long long, X) F(int32, int32_t, X) F(int64, int64_t, X)
#define RMQ_SHMEM_AMO_BITWISE(F, X) RMQ_SHMEM_AMO_BITWISE_C(F, X) F(uint32, uint32_t, X) F(uint64, uint64_t, X)
/* The operations' names before OpenSHMEM 1.4: swap, fetch, set of all; the rest of the last three. */
#define RMQ_SHMEM_AMO_OLD(F, X) F(int, int, X) F(long, long, X) F(longlong, long long, X)
#define RMQ_SHMEM_AMO_OLD_EXTENDED(F, X) F(float, float, X) F(double, double, X) RMQ_SHMEM_AMO_OLD(F, X)

/* Waiting and testing. */
#define RMQ_SHMEM_SYNC_C(F, X) F(short, short, X) F(ushort, unsigned short, X) RMQ_SHMEM_WORDS_C(F, X)
#define RMQ_SHMEM_SYNC(F, X) RMQ_SHMEM_SYNC_C(F, X) RMQ_SHMEM_WORDS_FIXED(F, X) RMQ_SHMEM_SIZES(F, X)
#define RMQ_SHMEM_SYNC_OLD(F, X) F(short, short, X) RMQ_SHMEM_AMO_OLD(F, X)

/* Reductions of a team. */
#define RMQ_SHMEM_REDUCE_BITWISE_C(F, X) \
  F(uchar, unsigned char, X) F(ushort, unsigned short, X) F(int8, int8_t, X) F(int16, int16_t, X) \
  RMQ_SHMEM_AMO_BITWISE_C(F, X)
#define RMQ_SHMEM_REDUCE_BITWISE(F, X) \
  RMQ_SHMEM_REDUCE_BITWISE_C(F, X) F(uint8, uint8_t, X) F(uint16, uint16_t, X) F(uint32, uint32_t, X) \
  F(uint64, uint64_t, X) F(size, size_t, X)
#define RMQ_SHMEM_REDUCE_ORDERED_C(F, X) RMQ_SHMEM_RMA_C(F, X)
#define RMQ_SHMEM_REDUCE_ORDERED(F, X) RMQ_SHMEM_RMA(F, X)
#define RMQ_SHMEM_REDUCE_ARITHMETIC_C(F, X) \
  RMQ_SHMEM_RMA_C(F, X) F(complexf, rmq_shmem_complexf, X) F(complexd, rmq_shmem_complexd, X)
#define RMQ_SHMEM_REDUCE_ARITHMETIC(F, X) \
  RMQ_SHMEM_RMA(F, X) F(complexf, rmq_shmem_complexf, X) F(complexd, rmq_shmem_complexd, X)
/* Of an active set: and, or, xor; min, max; sum, prod. */
#define RMQ_SHMEM_TO_ALL_BITWISE(F, X) RMQ_SHMEM_SYNC_OLD(F, X)
#define RMQ_SHMEM_TO_ALL_ORDERED(F, X) \
  F(float, float, X) F(double, double, X) F(longdouble, long double, X) RMQ_SHMEM_TO_ALL_BITWISE(F, X)
#define RMQ_SHMEM_TO_ALL_ARITHMETIC(F, X) \
  RMQ_SHMEM_TO_ALL_ORDERED(F, X) F(complexf, rmq_shmem_complexf, X) F(complexd, rmq_shmem_complexd, X)

/* clang-format on */
#endif
