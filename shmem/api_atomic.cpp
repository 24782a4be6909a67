// SPDX-License-Identifier: BSD-3-Clause
// Chapter 9.7: atomic operations.
#include "shmem/call.hpp"
#include "shmem/transfer.hpp"
#define RMQ_SHMEM_NO_OVERLOADS
#include "shmem/include/shmem.h"

namespace rmq::shmem {

// One operation: without a result, with one, and with one that comes later.
#define RMQ_SHMEM_AMO_OF(N, T, name, op)                                                                          \
  RMQ_SHMEM_PAIR(void, N##_atomic_##name, (T * dest, T value, int pe), amo<op>(fn::atomic, ctx, dest, value, pe)) \
  RMQ_SHMEM_PAIR(T, N##_atomic_fetch_##name, (T * dest, T value, int pe),                                         \
                 return fetch_amo<op>(fn::atomic_fetch, ctx, dest, value, pe))                                    \
  RMQ_SHMEM_PAIR(void, N##_atomic_fetch_##name##_nbi, (T * fetch, T * dest, T value, int pe),                     \
                 amo_to<op>(fn::atomic_fetch, ctx, fetch, dest, value, pe, Wait::no))

#define RMQ_SHMEM_ONE(N, T, X)                                                                                       \
  RMQ_SHMEM_PAIR(T, N##_atomic_fetch, (const T* source, int pe),                                                     \
                 return fetch_amo<Amo::fetch>(fn::atomic_fetch, ctx, const_cast<T*>(source), static_cast<T>(0), pe)) \
  RMQ_SHMEM_PAIR(                                                                                                    \
      void, N##_atomic_fetch_nbi, (T * fetch, const T* source, int pe),                                              \
      amo_to<Amo::fetch>(fn::atomic_fetch, ctx, fetch, const_cast<T*>(source), static_cast<T>(0), pe, Wait::no))     \
  RMQ_SHMEM_PAIR(void, N##_atomic_set, (T * dest, T value, int pe), amo<Amo::set>(fn::atomic, ctx, dest, value, pe)) \
  RMQ_SHMEM_PAIR(T, N##_atomic_swap, (T * dest, T value, int pe),                                                    \
                 return fetch_amo<Amo::swap>(fn::atomic_fetch, ctx, dest, value, pe))                                \
  RMQ_SHMEM_PAIR(void, N##_atomic_swap_nbi, (T * fetch, T * dest, T value, int pe),                                  \
                 amo_to<Amo::swap>(fn::atomic_fetch, ctx, fetch, dest, value, pe, Wait::no))
RMQ_SHMEM_AMO_EXTENDED(RMQ_SHMEM_ONE, )
#undef RMQ_SHMEM_ONE

#define RMQ_SHMEM_ONE(N, T, X)                                                                            \
  RMQ_SHMEM_AMO_OF(N, T, add, Amo::add)                                                                   \
  RMQ_SHMEM_PAIR(void, N##_atomic_inc, (T * dest, int pe),                                                \
                 amo<Amo::add>(fn::atomic, ctx, dest, static_cast<T>(1), pe))                             \
  RMQ_SHMEM_PAIR(T, N##_atomic_fetch_inc, (T * dest, int pe),                                             \
                 return fetch_amo<Amo::add>(fn::atomic_fetch, ctx, dest, static_cast<T>(1), pe))          \
  RMQ_SHMEM_PAIR(void, N##_atomic_fetch_inc_nbi, (T * fetch, T * dest, int pe),                           \
                 amo_to<Amo::add>(fn::atomic_fetch, ctx, fetch, dest, static_cast<T>(1), pe, Wait::no))   \
  RMQ_SHMEM_PAIR(T, N##_atomic_compare_swap, (T * dest, T cond, T value, int pe), T before;               \
                 compare_swap(fn::atomic_compare_swap, ctx, &before, dest, cond, value, pe, Wait::local); \
                 return before)                                                                           \
  RMQ_SHMEM_PAIR(void, N##_atomic_compare_swap_nbi, (T * fetch, T * dest, T cond, T value, int pe),       \
                 compare_swap(fn::atomic_compare_swap, ctx, fetch, dest, cond, value, pe, Wait::no))
RMQ_SHMEM_AMO(RMQ_SHMEM_ONE, )
#undef RMQ_SHMEM_ONE

#define RMQ_SHMEM_ONE(N, T, X)           \
  RMQ_SHMEM_AMO_OF(N, T, and, Amo::band) \
  RMQ_SHMEM_AMO_OF(N, T, or, Amo::bor)   \
  RMQ_SHMEM_AMO_OF(N, T, xor, Amo::bxor)
RMQ_SHMEM_AMO_BITWISE(RMQ_SHMEM_ONE, )
#undef RMQ_SHMEM_ONE

// Their names before 1.4.
#define RMQ_SHMEM_ONE(N, T, X)                            \
  RMQ_SHMEM(T, N##_fetch, (const T* source, int pe)) {    \
    return pshmem_##N##_atomic_fetch(source, pe);         \
  }                                                       \
  RMQ_SHMEM(void, N##_set, (T * dest, T value, int pe)) { \
    pshmem_##N##_atomic_set(dest, value, pe);             \
  }                                                       \
  RMQ_SHMEM(T, N##_swap, (T * dest, T value, int pe)) {   \
    return pshmem_##N##_atomic_swap(dest, value, pe);     \
  }
RMQ_SHMEM_AMO_OLD_EXTENDED(RMQ_SHMEM_ONE, )
#undef RMQ_SHMEM_ONE
#define RMQ_SHMEM_ONE(N, T, X)                                      \
  RMQ_SHMEM(T, N##_cswap, (T * dest, T cond, T value, int pe)) {    \
    return pshmem_##N##_atomic_compare_swap(dest, cond, value, pe); \
  }                                                                 \
  RMQ_SHMEM(void, N##_inc, (T * dest, int pe)) {                    \
    pshmem_##N##_atomic_inc(dest, pe);                              \
  }                                                                 \
  RMQ_SHMEM(T, N##_finc, (T * dest, int pe)) {                      \
    return pshmem_##N##_atomic_fetch_inc(dest, pe);                 \
  }                                                                 \
  RMQ_SHMEM(void, N##_add, (T * dest, T value, int pe)) {           \
    pshmem_##N##_atomic_add(dest, value, pe);                       \
  }                                                                 \
  RMQ_SHMEM(T, N##_fadd, (T * dest, T value, int pe)) {             \
    return pshmem_##N##_atomic_fetch_add(dest, value, pe);          \
  }
RMQ_SHMEM_AMO_OLD(RMQ_SHMEM_ONE, )
#undef RMQ_SHMEM_ONE

}  // namespace rmq::shmem
