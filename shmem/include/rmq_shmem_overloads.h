/*
 * rmq_shmem_overloads.h: what generic selection is to C11, to C++: shmem_put(dest, ...) for each type, with and without a
 * context.
 */
#ifndef RMQ_SHMEM_OVERLOADS_H
#define RMQ_SHMEM_OVERLOADS_H

#define RMQ_SHMEM_ONE(N, T, X) \
  inline void shmem_put(T* dest, const T* source, size_t nelems, int pe) { shmem_##N##_put(dest, source, nelems, pe); } \
  inline void shmem_put(shmem_ctx_t ctx, T* dest, const T* source, size_t nelems, int pe) { shmem_ctx_##N##_put(ctx, dest, source, nelems, pe); } \
  inline void shmem_put_nbi(T* dest, const T* source, size_t nelems, int pe) { shmem_##N##_put_nbi(dest, source, nelems, pe); } \
  inline void shmem_put_nbi(shmem_ctx_t ctx, T* dest, const T* source, size_t nelems, int pe) { shmem_ctx_##N##_put_nbi(ctx, dest, source, nelems, pe); } \
  inline void shmem_get(T* dest, const T* source, size_t nelems, int pe) { shmem_##N##_get(dest, source, nelems, pe); } \
  inline void shmem_get(shmem_ctx_t ctx, T* dest, const T* source, size_t nelems, int pe) { shmem_ctx_##N##_get(ctx, dest, source, nelems, pe); } \
  inline void shmem_get_nbi(T* dest, const T* source, size_t nelems, int pe) { shmem_##N##_get_nbi(dest, source, nelems, pe); } \
  inline void shmem_get_nbi(shmem_ctx_t ctx, T* dest, const T* source, size_t nelems, int pe) { shmem_ctx_##N##_get_nbi(ctx, dest, source, nelems, pe); } \
  inline void shmem_p(T* dest, T value, int pe) { shmem_##N##_p(dest, value, pe); } \
  inline void shmem_p(shmem_ctx_t ctx, T* dest, T value, int pe) { shmem_ctx_##N##_p(ctx, dest, value, pe); } \
  inline T shmem_g(const T* source, int pe) { return shmem_##N##_g(source, pe); } \
  inline T shmem_g(shmem_ctx_t ctx, const T* source, int pe) { return shmem_ctx_##N##_g(ctx, source, pe); } \
  inline void shmem_iput(T* dest, const T* source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe) { shmem_##N##_iput(dest, source, dst, sst, nelems, pe); } \
  inline void shmem_iput(shmem_ctx_t ctx, T* dest, const T* source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe) { shmem_ctx_##N##_iput(ctx, dest, source, dst, sst, nelems, pe); } \
  inline void shmem_iget(T* dest, const T* source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe) { shmem_##N##_iget(dest, source, dst, sst, nelems, pe); } \
  inline void shmem_iget(shmem_ctx_t ctx, T* dest, const T* source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe) { shmem_ctx_##N##_iget(ctx, dest, source, dst, sst, nelems, pe); } \
  inline void shmem_put_signal(T* dest, const T* source, size_t nelems, uint64_t* sig_addr, uint64_t signal, int sig_op, int pe) { shmem_##N##_put_signal(dest, source, nelems, sig_addr, signal, sig_op, pe); } \
  inline void shmem_put_signal(shmem_ctx_t ctx, T* dest, const T* source, size_t nelems, uint64_t* sig_addr, uint64_t signal, int sig_op, int pe) { shmem_ctx_##N##_put_signal(ctx, dest, source, nelems, sig_addr, signal, sig_op, pe); } \
  inline void shmem_put_signal_nbi(T* dest, const T* source, size_t nelems, uint64_t* sig_addr, uint64_t signal, int sig_op, int pe) { shmem_##N##_put_signal_nbi(dest, source, nelems, sig_addr, signal, sig_op, pe); } \
  inline void shmem_put_signal_nbi(shmem_ctx_t ctx, T* dest, const T* source, size_t nelems, uint64_t* sig_addr, uint64_t signal, int sig_op, int pe) { shmem_ctx_##N##_put_signal_nbi(ctx, dest, source, nelems, sig_addr, signal, sig_op, pe); }
RMQ_SHMEM_RMA_C(RMQ_SHMEM_ONE, )
#undef RMQ_SHMEM_ONE

#define RMQ_SHMEM_ONE(N, T, X) \
  inline T shmem_atomic_fetch(const T* source, int pe) { return shmem_##N##_atomic_fetch(source, pe); } \
  inline T shmem_atomic_fetch(shmem_ctx_t ctx, const T* source, int pe) { return shmem_ctx_##N##_atomic_fetch(ctx, source, pe); } \
  inline void shmem_atomic_set(T* dest, T value, int pe) { shmem_##N##_atomic_set(dest, value, pe); } \
  inline void shmem_atomic_set(shmem_ctx_t ctx, T* dest, T value, int pe) { shmem_ctx_##N##_atomic_set(ctx, dest, value, pe); } \
  inline T shmem_atomic_swap(T* dest, T value, int pe) { return shmem_##N##_atomic_swap(dest, value, pe); } \
  inline T shmem_atomic_swap(shmem_ctx_t ctx, T* dest, T value, int pe) { return shmem_ctx_##N##_atomic_swap(ctx, dest, value, pe); } \
  inline void shmem_atomic_fetch_nbi(T* fetch, const T* source, int pe) { shmem_##N##_atomic_fetch_nbi(fetch, source, pe); } \
  inline void shmem_atomic_fetch_nbi(shmem_ctx_t ctx, T* fetch, const T* source, int pe) { shmem_ctx_##N##_atomic_fetch_nbi(ctx, fetch, source, pe); } \
  inline void shmem_atomic_swap_nbi(T* fetch, T* dest, T value, int pe) { shmem_##N##_atomic_swap_nbi(fetch, dest, value, pe); } \
  inline void shmem_atomic_swap_nbi(shmem_ctx_t ctx, T* fetch, T* dest, T value, int pe) { shmem_ctx_##N##_atomic_swap_nbi(ctx, fetch, dest, value, pe); }
RMQ_SHMEM_AMO_EXTENDED_C(RMQ_SHMEM_ONE, )
#undef RMQ_SHMEM_ONE

#define RMQ_SHMEM_ONE(N, T, X) \
  inline T shmem_atomic_compare_swap(T* dest, T cond, T value, int pe) { return shmem_##N##_atomic_compare_swap(dest, cond, value, pe); } \
  inline T shmem_atomic_compare_swap(shmem_ctx_t ctx, T* dest, T cond, T value, int pe) { return shmem_ctx_##N##_atomic_compare_swap(ctx, dest, cond, value, pe); } \
  inline void shmem_atomic_inc(T* dest, int pe) { shmem_##N##_atomic_inc(dest, pe); } \
  inline void shmem_atomic_inc(shmem_ctx_t ctx, T* dest, int pe) { shmem_ctx_##N##_atomic_inc(ctx, dest, pe); } \
  inline T shmem_atomic_fetch_inc(T* dest, int pe) { return shmem_##N##_atomic_fetch_inc(dest, pe); } \
  inline T shmem_atomic_fetch_inc(shmem_ctx_t ctx, T* dest, int pe) { return shmem_ctx_##N##_atomic_fetch_inc(ctx, dest, pe); } \
  inline void shmem_atomic_add(T* dest, T value, int pe) { shmem_##N##_atomic_add(dest, value, pe); } \
  inline void shmem_atomic_add(shmem_ctx_t ctx, T* dest, T value, int pe) { shmem_ctx_##N##_atomic_add(ctx, dest, value, pe); } \
  inline T shmem_atomic_fetch_add(T* dest, T value, int pe) { return shmem_##N##_atomic_fetch_add(dest, value, pe); } \
  inline T shmem_atomic_fetch_add(shmem_ctx_t ctx, T* dest, T value, int pe) { return shmem_ctx_##N##_atomic_fetch_add(ctx, dest, value, pe); } \
  inline void shmem_atomic_compare_swap_nbi(T* fetch, T* dest, T cond, T value, int pe) { shmem_##N##_atomic_compare_swap_nbi(fetch, dest, cond, value, pe); } \
  inline void shmem_atomic_compare_swap_nbi(shmem_ctx_t ctx, T* fetch, T* dest, T cond, T value, int pe) { shmem_ctx_##N##_atomic_compare_swap_nbi(ctx, fetch, dest, cond, value, pe); } \
  inline void shmem_atomic_fetch_inc_nbi(T* fetch, T* dest, int pe) { shmem_##N##_atomic_fetch_inc_nbi(fetch, dest, pe); } \
  inline void shmem_atomic_fetch_inc_nbi(shmem_ctx_t ctx, T* fetch, T* dest, int pe) { shmem_ctx_##N##_atomic_fetch_inc_nbi(ctx, fetch, dest, pe); } \
  inline void shmem_atomic_fetch_add_nbi(T* fetch, T* dest, T value, int pe) { shmem_##N##_atomic_fetch_add_nbi(fetch, dest, value, pe); } \
  inline void shmem_atomic_fetch_add_nbi(shmem_ctx_t ctx, T* fetch, T* dest, T value, int pe) { shmem_ctx_##N##_atomic_fetch_add_nbi(ctx, fetch, dest, value, pe); }
RMQ_SHMEM_AMO_C(RMQ_SHMEM_ONE, )
#undef RMQ_SHMEM_ONE

#define RMQ_SHMEM_ONE(N, T, X) \
  inline void shmem_atomic_and(T* dest, T value, int pe) { shmem_##N##_atomic_and(dest, value, pe); } \
  inline void shmem_atomic_and(shmem_ctx_t ctx, T* dest, T value, int pe) { shmem_ctx_##N##_atomic_and(ctx, dest, value, pe); } \
  inline T shmem_atomic_fetch_and(T* dest, T value, int pe) { return shmem_##N##_atomic_fetch_and(dest, value, pe); } \
  inline T shmem_atomic_fetch_and(shmem_ctx_t ctx, T* dest, T value, int pe) { return shmem_ctx_##N##_atomic_fetch_and(ctx, dest, value, pe); } \
  inline void shmem_atomic_fetch_and_nbi(T* fetch, T* dest, T value, int pe) { shmem_##N##_atomic_fetch_and_nbi(fetch, dest, value, pe); } \
  inline void shmem_atomic_fetch_and_nbi(shmem_ctx_t ctx, T* fetch, T* dest, T value, int pe) { shmem_ctx_##N##_atomic_fetch_and_nbi(ctx, fetch, dest, value, pe); } \
  inline void shmem_atomic_or(T* dest, T value, int pe) { shmem_##N##_atomic_or(dest, value, pe); } \
  inline void shmem_atomic_or(shmem_ctx_t ctx, T* dest, T value, int pe) { shmem_ctx_##N##_atomic_or(ctx, dest, value, pe); } \
  inline T shmem_atomic_fetch_or(T* dest, T value, int pe) { return shmem_##N##_atomic_fetch_or(dest, value, pe); } \
  inline T shmem_atomic_fetch_or(shmem_ctx_t ctx, T* dest, T value, int pe) { return shmem_ctx_##N##_atomic_fetch_or(ctx, dest, value, pe); } \
  inline void shmem_atomic_fetch_or_nbi(T* fetch, T* dest, T value, int pe) { shmem_##N##_atomic_fetch_or_nbi(fetch, dest, value, pe); } \
  inline void shmem_atomic_fetch_or_nbi(shmem_ctx_t ctx, T* fetch, T* dest, T value, int pe) { shmem_ctx_##N##_atomic_fetch_or_nbi(ctx, fetch, dest, value, pe); } \
  inline void shmem_atomic_xor(T* dest, T value, int pe) { shmem_##N##_atomic_xor(dest, value, pe); } \
  inline void shmem_atomic_xor(shmem_ctx_t ctx, T* dest, T value, int pe) { shmem_ctx_##N##_atomic_xor(ctx, dest, value, pe); } \
  inline T shmem_atomic_fetch_xor(T* dest, T value, int pe) { return shmem_##N##_atomic_fetch_xor(dest, value, pe); } \
  inline T shmem_atomic_fetch_xor(shmem_ctx_t ctx, T* dest, T value, int pe) { return shmem_ctx_##N##_atomic_fetch_xor(ctx, dest, value, pe); } \
  inline void shmem_atomic_fetch_xor_nbi(T* fetch, T* dest, T value, int pe) { shmem_##N##_atomic_fetch_xor_nbi(fetch, dest, value, pe); } \
  inline void shmem_atomic_fetch_xor_nbi(shmem_ctx_t ctx, T* fetch, T* dest, T value, int pe) { shmem_ctx_##N##_atomic_fetch_xor_nbi(ctx, fetch, dest, value, pe); }
RMQ_SHMEM_AMO_BITWISE_C(RMQ_SHMEM_ONE, )
#undef RMQ_SHMEM_ONE

#define RMQ_SHMEM_ONE(N, T, X) \
  inline void shmem_wait_until(volatile T* ivar, int cmp, T value) { shmem_##N##_wait_until(ivar, cmp, value); } \
  inline int shmem_test(volatile T* ivar, int cmp, T value) { return shmem_##N##_test(ivar, cmp, value); } \
  inline void shmem_wait_until_all(volatile T* ivars, size_t nelems, const int* status, int cmp, T value) { shmem_##N##_wait_until_all(ivars, nelems, status, cmp, value); } \
  inline size_t shmem_wait_until_any(volatile T* ivars, size_t nelems, const int* status, int cmp, T value) { return shmem_##N##_wait_until_any(ivars, nelems, status, cmp, value); } \
  inline size_t shmem_wait_until_some(volatile T* ivars, size_t nelems, size_t* indices, const int* status, int cmp, T value) { return shmem_##N##_wait_until_some(ivars, nelems, indices, status, cmp, value); } \
  inline int shmem_test_all(volatile T* ivars, size_t nelems, const int* status, int cmp, T value) { return shmem_##N##_test_all(ivars, nelems, status, cmp, value); } \
  inline size_t shmem_test_any(volatile T* ivars, size_t nelems, const int* status, int cmp, T value) { return shmem_##N##_test_any(ivars, nelems, status, cmp, value); } \
  inline size_t shmem_test_some(volatile T* ivars, size_t nelems, size_t* indices, const int* status, int cmp, T value) { return shmem_##N##_test_some(ivars, nelems, indices, status, cmp, value); } \
  inline void shmem_wait_until_all_vector(volatile T* ivars, size_t nelems, const int* status, int cmp, T* values) { shmem_##N##_wait_until_all_vector(ivars, nelems, status, cmp, values); } \
  inline size_t shmem_wait_until_any_vector(volatile T* ivars, size_t nelems, const int* status, int cmp, T* values) { return shmem_##N##_wait_until_any_vector(ivars, nelems, status, cmp, values); } \
  inline size_t shmem_wait_until_some_vector(volatile T* ivars, size_t nelems, size_t* indices, const int* status, int cmp, T* values) { return shmem_##N##_wait_until_some_vector(ivars, nelems, indices, status, cmp, values); } \
  inline int shmem_test_all_vector(volatile T* ivars, size_t nelems, const int* status, int cmp, T* values) { return shmem_##N##_test_all_vector(ivars, nelems, status, cmp, values); } \
  inline size_t shmem_test_any_vector(volatile T* ivars, size_t nelems, const int* status, int cmp, T* values) { return shmem_##N##_test_any_vector(ivars, nelems, status, cmp, values); } \
  inline size_t shmem_test_some_vector(volatile T* ivars, size_t nelems, size_t* indices, const int* status, int cmp, T* values) { return shmem_##N##_test_some_vector(ivars, nelems, indices, status, cmp, values); }
RMQ_SHMEM_SYNC_C(RMQ_SHMEM_ONE, )
#undef RMQ_SHMEM_ONE

#define RMQ_SHMEM_ONE(N, T, X) \
  inline int shmem_broadcast(shmem_team_t team, T* dest, const T* source, size_t nelems, int root) { return shmem_##N##_broadcast(team, dest, source, nelems, root); } \
  inline int shmem_collect(shmem_team_t team, T* dest, const T* source, size_t nelems) { return shmem_##N##_collect(team, dest, source, nelems); } \
  inline int shmem_fcollect(shmem_team_t team, T* dest, const T* source, size_t nelems) { return shmem_##N##_fcollect(team, dest, source, nelems); } \
  inline int shmem_alltoall(shmem_team_t team, T* dest, const T* source, size_t nelems) { return shmem_##N##_alltoall(team, dest, source, nelems); } \
  inline int shmem_alltoalls(shmem_team_t team, T* dest, const T* source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems) { return shmem_##N##_alltoalls(team, dest, source, dst, sst, nelems); }
RMQ_SHMEM_RMA_C(RMQ_SHMEM_ONE, )
#undef RMQ_SHMEM_ONE

#define RMQ_SHMEM_ONE(N, T, X) \
  inline int shmem_and_reduce(shmem_team_t team, T* dest, const T* source, size_t nelems) { return shmem_##N##_and_reduce(team, dest, source, nelems); } \
  inline int shmem_or_reduce(shmem_team_t team, T* dest, const T* source, size_t nelems) { return shmem_##N##_or_reduce(team, dest, source, nelems); } \
  inline int shmem_xor_reduce(shmem_team_t team, T* dest, const T* source, size_t nelems) { return shmem_##N##_xor_reduce(team, dest, source, nelems); }
RMQ_SHMEM_REDUCE_BITWISE_C(RMQ_SHMEM_ONE, )
#undef RMQ_SHMEM_ONE

#define RMQ_SHMEM_ONE(N, T, X) \
  inline int shmem_min_reduce(shmem_team_t team, T* dest, const T* source, size_t nelems) { return shmem_##N##_min_reduce(team, dest, source, nelems); } \
  inline int shmem_max_reduce(shmem_team_t team, T* dest, const T* source, size_t nelems) { return shmem_##N##_max_reduce(team, dest, source, nelems); }
RMQ_SHMEM_REDUCE_ORDERED_C(RMQ_SHMEM_ONE, )
#undef RMQ_SHMEM_ONE

#define RMQ_SHMEM_ONE(N, T, X) \
  inline int shmem_sum_reduce(shmem_team_t team, T* dest, const T* source, size_t nelems) { return shmem_##N##_sum_reduce(team, dest, source, nelems); } \
  inline int shmem_prod_reduce(shmem_team_t team, T* dest, const T* source, size_t nelems) { return shmem_##N##_prod_reduce(team, dest, source, nelems); }
RMQ_SHMEM_REDUCE_ARITHMETIC_C(RMQ_SHMEM_ONE, )
#undef RMQ_SHMEM_ONE

#define RMQ_SHMEM_ONE(N, T, op)                                                                                        \
  inline int shmem_##op##_reduce(shmem_team_t team, std::complex<T>* dest, const std::complex<T>* source, size_t nelems) { \
    return shmem_##N##_##op##_reduce(team, reinterpret_cast<rmq_shmem_##N*>(dest),                                      \
                                     reinterpret_cast<const rmq_shmem_##N*>(source), nelems);                           \
  }
RMQ_SHMEM_ONE(complexf, float, sum) RMQ_SHMEM_ONE(complexd, double, sum)
RMQ_SHMEM_ONE(complexf, float, prod) RMQ_SHMEM_ONE(complexd, double, prod)
#undef RMQ_SHMEM_ONE

inline int shmem_sync(shmem_team_t team) { return shmem_team_sync(team); }
/* As OpenSHMEM 1.3 had it. */
inline void shmem_wait(volatile long* ivar, long value) { shmem_long_wait(ivar, value); }

#endif
