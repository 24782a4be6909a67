// SPDX-License-Identifier: BSD-3-Clause
// Chapters 9.6 and 9.8: put, get, and with a signal; signals alone.
#include "shmem/call.hpp"
#include "shmem/transfer.hpp"
#define RMQ_SHMEM_NO_OVERLOADS
#include "shmem/include/shmem.h"

namespace rmq::shmem {
namespace {

/// A stride in bytes.
constexpr std::ptrdiff_t scaled(std::ptrdiff_t stride, std::size_t each) {
  return stride * static_cast<std::ptrdiff_t>(each);
}

}  // namespace

#define RMQ_SHMEM_SIGNAL std::uint64_t *sig_addr, std::uint64_t signal, int sig_op, int pe

// What the typed functions and those by bits have in common: name, pointers, bytes of an element.
#define RMQ_SHMEM_MOVES(put_, put_nbi_, get_, get_nbi_, put_signal_, put_signal_nbi_, T, each)                 \
  RMQ_SHMEM_PAIR(void, put_, (T * dest, const T* source, size_t nelems, int pe),                               \
                 put(fn::put, ctx, dest, source, nelems*(each), pe))                                           \
  RMQ_SHMEM_PAIR(void, put_nbi_, (T * dest, const T* source, size_t nelems, int pe),                           \
                 put(fn::put_nbi, ctx, dest, source, nelems*(each), pe, Wait::no))                             \
  RMQ_SHMEM_PAIR(void, get_, (T * dest, const T* source, size_t nelems, int pe),                               \
                 get(fn::get, ctx, dest, source, nelems*(each), pe))                                           \
  RMQ_SHMEM_PAIR(void, get_nbi_, (T * dest, const T* source, size_t nelems, int pe),                           \
                 get(fn::get_nbi, ctx, dest, source, nelems*(each), pe, Wait::no))                             \
  RMQ_SHMEM_PAIR(                                                                                              \
      void, put_signal_, (T * dest, const T* source, size_t nelems, RMQ_SHMEM_SIGNAL),                         \
      put_signal(fn::put_signal, ctx, dest, source, nelems*(each), sig_addr, signal, sig_op, pe, Wait::local)) \
  RMQ_SHMEM_PAIR(                                                                                              \
      void, put_signal_nbi_, (T * dest, const T* source, size_t nelems, RMQ_SHMEM_SIGNAL),                     \
      put_signal(fn::put_signal_nbi, ctx, dest, source, nelems*(each), sig_addr, signal, sig_op, pe, Wait::no))
// By elements, and by blocks of them.
#define RMQ_SHMEM_STRIDED(what, is_put, i_, ib_, T, each)                                                             \
  RMQ_SHMEM_PAIR(                                                                                                     \
      void, i_, (T * dest, const T* source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe),                     \
      strided(fn::i##what, ctx, is_put, dest, source, scaled(dst, each), scaled(sst, each), each, nelems, pe))        \
  RMQ_SHMEM_PAIR(void, ib_,                                                                                           \
                 (T * dest, const T* source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe),     \
                 strided(fn::ib##what, ctx, is_put, dest, source, scaled(dst, each), scaled(sst, each), bsize*(each), \
                         nblocks, pe))

#define RMQ_SHMEM_ONE(N, T, X)                                                                                  \
  RMQ_SHMEM_MOVES(N##_put, N##_put_nbi, N##_get, N##_get_nbi, N##_put_signal, N##_put_signal_nbi, T, sizeof(T)) \
  RMQ_SHMEM_STRIDED(put, true, N##_iput, N##_ibput, T, sizeof(T))                                               \
  RMQ_SHMEM_STRIDED(get, false, N##_iget, N##_ibget, T, sizeof(T))                                              \
  RMQ_SHMEM_PAIR(void, N##_p, (T * dest, T value, int pe), put(fn::p, ctx, dest, &value, sizeof(T), pe))        \
  RMQ_SHMEM_PAIR(T, N##_g, (const T* source, int pe), T value; get(fn::g, ctx, &value, source, sizeof(T), pe);  \
                 return value)
RMQ_SHMEM_RMA(RMQ_SHMEM_ONE, )
#undef RMQ_SHMEM_ONE

#define RMQ_SHMEM_ONE(N, bytes, X)                                                                               \
  RMQ_SHMEM_MOVES(put##N, put##N##_nbi, get##N, get##N##_nbi, put##N##_signal, put##N##_signal_nbi, void, bytes) \
  RMQ_SHMEM_STRIDED(put, true, iput##N, ibput##N, void, bytes)                                                   \
  RMQ_SHMEM_STRIDED(get, false, iget##N, ibget##N, void, bytes)
RMQ_SHMEM_BITS(RMQ_SHMEM_ONE, )
#undef RMQ_SHMEM_ONE
RMQ_SHMEM_MOVES(putmem, putmem_nbi, getmem, getmem_nbi, putmem_signal, putmem_signal_nbi, void, 1)

RMQ_SHMEM_PAIR(void, signal_add, (std::uint64_t * sig_addr, std::uint64_t signal, int pe),
               amo<Amo::add>(fn::signal_add, ctx, sig_addr, signal, pe))
RMQ_SHMEM_PAIR(void, signal_set, (std::uint64_t * sig_addr, std::uint64_t signal, int pe),
               amo<Amo::set>(fn::signal_set, ctx, sig_addr, signal, pe))
RMQ_SHMEM(std::uint64_t, signal_fetch, (const std::uint64_t* sig_addr)) {
  looked();
  return look(sig_addr);
}

}  // namespace rmq::shmem
