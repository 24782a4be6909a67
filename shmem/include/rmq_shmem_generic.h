/*
 * rmq_shmem_generic.h: the generic selection of C11: shmem_put(dest, ...) is the function for what dest points at.
 */
#ifndef RMQ_SHMEM_GENERIC_H
#define RMQ_SHMEM_GENERIC_H

/* Chosen where a family has no function for the type: to call it with arguments is an error. */
void rmq_shmem_has_no_such_type(void);

#define RMQ_SHMEM_FIRST_OF(a, ...) a
#define RMQ_SHMEM_SECOND_OF(a, b, ...) b
#define RMQ_SHMEM_FIRST(...) RMQ_SHMEM_FIRST_OF(__VA_ARGS__, 0)
#define RMQ_SHMEM_SECOND(...) RMQ_SHMEM_SECOND_OF(__VA_ARGS__, 0, 0)

#define RMQ_SHMEM_PICK(N, T, op) \
  T * : shmem_##N##_##op, const T * : shmem_##N##_##op, volatile T * : shmem_##N##_##op,
#define RMQ_SHMEM_PICK_CTX(N, T, op) \
  T * : shmem_ctx_##N##_##op, const T * : shmem_ctx_##N##_##op, volatile T * : shmem_ctx_##N##_##op,

/* By the first argument, or behind a context by the second. */
#define RMQ_SHMEM_GENERIC(TYPES, op, ...)                                                                              \
  _Generic((RMQ_SHMEM_FIRST(__VA_ARGS__)), shmem_ctx_t                                                                 \
           : _Generic((RMQ_SHMEM_SECOND(__VA_ARGS__)), TYPES(RMQ_SHMEM_PICK_CTX, op) default                           \
                      : rmq_shmem_has_no_such_type),                                                                   \
             TYPES(RMQ_SHMEM_PICK, op) default                                                                         \
           : rmq_shmem_has_no_such_type)(__VA_ARGS__)
/* By the first argument; by the second one, behind a team. */
#define RMQ_SHMEM_GENERIC_1(TYPES, op, ...) \
  _Generic((RMQ_SHMEM_FIRST(__VA_ARGS__)), TYPES(RMQ_SHMEM_PICK, op) default : rmq_shmem_has_no_such_type)(__VA_ARGS__)
#define RMQ_SHMEM_GENERIC_2(TYPES, op, ...) \
  _Generic((RMQ_SHMEM_SECOND(__VA_ARGS__)), TYPES(RMQ_SHMEM_PICK, op) default : rmq_shmem_has_no_such_type)(__VA_ARGS__)

#define shmem_put(...) RMQ_SHMEM_GENERIC(RMQ_SHMEM_RMA_C, put, __VA_ARGS__)
#define shmem_get(...) RMQ_SHMEM_GENERIC(RMQ_SHMEM_RMA_C, get, __VA_ARGS__)
#define shmem_put_nbi(...) RMQ_SHMEM_GENERIC(RMQ_SHMEM_RMA_C, put_nbi, __VA_ARGS__)
#define shmem_get_nbi(...) RMQ_SHMEM_GENERIC(RMQ_SHMEM_RMA_C, get_nbi, __VA_ARGS__)
#define shmem_p(...) RMQ_SHMEM_GENERIC(RMQ_SHMEM_RMA_C, p, __VA_ARGS__)
#define shmem_g(...) RMQ_SHMEM_GENERIC(RMQ_SHMEM_RMA_C, g, __VA_ARGS__)
#define shmem_iput(...) RMQ_SHMEM_GENERIC(RMQ_SHMEM_RMA_C, iput, __VA_ARGS__)
#define shmem_iget(...) RMQ_SHMEM_GENERIC(RMQ_SHMEM_RMA_C, iget, __VA_ARGS__)
#define shmem_put_signal(...) RMQ_SHMEM_GENERIC(RMQ_SHMEM_RMA_C, put_signal, __VA_ARGS__)
#define shmem_put_signal_nbi(...) RMQ_SHMEM_GENERIC(RMQ_SHMEM_RMA_C, put_signal_nbi, __VA_ARGS__)

#define shmem_atomic_fetch(...) RMQ_SHMEM_GENERIC(RMQ_SHMEM_AMO_EXTENDED_C, atomic_fetch, __VA_ARGS__)
#define shmem_atomic_set(...) RMQ_SHMEM_GENERIC(RMQ_SHMEM_AMO_EXTENDED_C, atomic_set, __VA_ARGS__)
#define shmem_atomic_swap(...) RMQ_SHMEM_GENERIC(RMQ_SHMEM_AMO_EXTENDED_C, atomic_swap, __VA_ARGS__)
#define shmem_atomic_fetch_nbi(...) RMQ_SHMEM_GENERIC(RMQ_SHMEM_AMO_EXTENDED_C, atomic_fetch_nbi, __VA_ARGS__)
#define shmem_atomic_swap_nbi(...) RMQ_SHMEM_GENERIC(RMQ_SHMEM_AMO_EXTENDED_C, atomic_swap_nbi, __VA_ARGS__)

#define shmem_atomic_compare_swap(...) RMQ_SHMEM_GENERIC(RMQ_SHMEM_AMO_C, atomic_compare_swap, __VA_ARGS__)
#define shmem_atomic_inc(...) RMQ_SHMEM_GENERIC(RMQ_SHMEM_AMO_C, atomic_inc, __VA_ARGS__)
#define shmem_atomic_fetch_inc(...) RMQ_SHMEM_GENERIC(RMQ_SHMEM_AMO_C, atomic_fetch_inc, __VA_ARGS__)
#define shmem_atomic_add(...) RMQ_SHMEM_GENERIC(RMQ_SHMEM_AMO_C, atomic_add, __VA_ARGS__)
#define shmem_atomic_fetch_add(...) RMQ_SHMEM_GENERIC(RMQ_SHMEM_AMO_C, atomic_fetch_add, __VA_ARGS__)
#define shmem_atomic_compare_swap_nbi(...) RMQ_SHMEM_GENERIC(RMQ_SHMEM_AMO_C, atomic_compare_swap_nbi, __VA_ARGS__)
#define shmem_atomic_fetch_inc_nbi(...) RMQ_SHMEM_GENERIC(RMQ_SHMEM_AMO_C, atomic_fetch_inc_nbi, __VA_ARGS__)
#define shmem_atomic_fetch_add_nbi(...) RMQ_SHMEM_GENERIC(RMQ_SHMEM_AMO_C, atomic_fetch_add_nbi, __VA_ARGS__)

#define shmem_atomic_and(...) RMQ_SHMEM_GENERIC(RMQ_SHMEM_AMO_BITWISE_C, atomic_and, __VA_ARGS__)
#define shmem_atomic_or(...) RMQ_SHMEM_GENERIC(RMQ_SHMEM_AMO_BITWISE_C, atomic_or, __VA_ARGS__)
#define shmem_atomic_xor(...) RMQ_SHMEM_GENERIC(RMQ_SHMEM_AMO_BITWISE_C, atomic_xor, __VA_ARGS__)
#define shmem_atomic_fetch_and(...) RMQ_SHMEM_GENERIC(RMQ_SHMEM_AMO_BITWISE_C, atomic_fetch_and, __VA_ARGS__)
#define shmem_atomic_fetch_or(...) RMQ_SHMEM_GENERIC(RMQ_SHMEM_AMO_BITWISE_C, atomic_fetch_or, __VA_ARGS__)
#define shmem_atomic_fetch_xor(...) RMQ_SHMEM_GENERIC(RMQ_SHMEM_AMO_BITWISE_C, atomic_fetch_xor, __VA_ARGS__)
#define shmem_atomic_fetch_and_nbi(...) RMQ_SHMEM_GENERIC(RMQ_SHMEM_AMO_BITWISE_C, atomic_fetch_and_nbi, __VA_ARGS__)
#define shmem_atomic_fetch_or_nbi(...) RMQ_SHMEM_GENERIC(RMQ_SHMEM_AMO_BITWISE_C, atomic_fetch_or_nbi, __VA_ARGS__)
#define shmem_atomic_fetch_xor_nbi(...) RMQ_SHMEM_GENERIC(RMQ_SHMEM_AMO_BITWISE_C, atomic_fetch_xor_nbi, __VA_ARGS__)

#define shmem_wait_until(...) RMQ_SHMEM_GENERIC_1(RMQ_SHMEM_SYNC_C, wait_until, __VA_ARGS__)
#define shmem_wait_until_all(...) RMQ_SHMEM_GENERIC_1(RMQ_SHMEM_SYNC_C, wait_until_all, __VA_ARGS__)
#define shmem_wait_until_any(...) RMQ_SHMEM_GENERIC_1(RMQ_SHMEM_SYNC_C, wait_until_any, __VA_ARGS__)
#define shmem_wait_until_some(...) RMQ_SHMEM_GENERIC_1(RMQ_SHMEM_SYNC_C, wait_until_some, __VA_ARGS__)
#define shmem_wait_until_all_vector(...) RMQ_SHMEM_GENERIC_1(RMQ_SHMEM_SYNC_C, wait_until_all_vector, __VA_ARGS__)
#define shmem_wait_until_any_vector(...) RMQ_SHMEM_GENERIC_1(RMQ_SHMEM_SYNC_C, wait_until_any_vector, __VA_ARGS__)
#define shmem_wait_until_some_vector(...) RMQ_SHMEM_GENERIC_1(RMQ_SHMEM_SYNC_C, wait_until_some_vector, __VA_ARGS__)
#define shmem_test(...) RMQ_SHMEM_GENERIC_1(RMQ_SHMEM_SYNC_C, test, __VA_ARGS__)
#define shmem_test_all(...) RMQ_SHMEM_GENERIC_1(RMQ_SHMEM_SYNC_C, test_all, __VA_ARGS__)
#define shmem_test_any(...) RMQ_SHMEM_GENERIC_1(RMQ_SHMEM_SYNC_C, test_any, __VA_ARGS__)
#define shmem_test_some(...) RMQ_SHMEM_GENERIC_1(RMQ_SHMEM_SYNC_C, test_some, __VA_ARGS__)
#define shmem_test_all_vector(...) RMQ_SHMEM_GENERIC_1(RMQ_SHMEM_SYNC_C, test_all_vector, __VA_ARGS__)
#define shmem_test_any_vector(...) RMQ_SHMEM_GENERIC_1(RMQ_SHMEM_SYNC_C, test_any_vector, __VA_ARGS__)
#define shmem_test_some_vector(...) RMQ_SHMEM_GENERIC_1(RMQ_SHMEM_SYNC_C, test_some_vector, __VA_ARGS__)

#define shmem_broadcast(...) RMQ_SHMEM_GENERIC_2(RMQ_SHMEM_RMA_C, broadcast, __VA_ARGS__)
#define shmem_collect(...) RMQ_SHMEM_GENERIC_2(RMQ_SHMEM_RMA_C, collect, __VA_ARGS__)
#define shmem_fcollect(...) RMQ_SHMEM_GENERIC_2(RMQ_SHMEM_RMA_C, fcollect, __VA_ARGS__)
#define shmem_alltoall(...) RMQ_SHMEM_GENERIC_2(RMQ_SHMEM_RMA_C, alltoall, __VA_ARGS__)
#define shmem_alltoalls(...) RMQ_SHMEM_GENERIC_2(RMQ_SHMEM_RMA_C, alltoalls, __VA_ARGS__)

#define shmem_and_reduce(...) RMQ_SHMEM_GENERIC_2(RMQ_SHMEM_REDUCE_BITWISE_C, and_reduce, __VA_ARGS__)
#define shmem_or_reduce(...) RMQ_SHMEM_GENERIC_2(RMQ_SHMEM_REDUCE_BITWISE_C, or_reduce, __VA_ARGS__)
#define shmem_xor_reduce(...) RMQ_SHMEM_GENERIC_2(RMQ_SHMEM_REDUCE_BITWISE_C, xor_reduce, __VA_ARGS__)

#define shmem_min_reduce(...) RMQ_SHMEM_GENERIC_2(RMQ_SHMEM_REDUCE_ORDERED_C, min_reduce, __VA_ARGS__)
#define shmem_max_reduce(...) RMQ_SHMEM_GENERIC_2(RMQ_SHMEM_REDUCE_ORDERED_C, max_reduce, __VA_ARGS__)

#define shmem_sum_reduce(...) RMQ_SHMEM_GENERIC_2(RMQ_SHMEM_REDUCE_ARITHMETIC_C, sum_reduce, __VA_ARGS__)
#define shmem_prod_reduce(...) RMQ_SHMEM_GENERIC_2(RMQ_SHMEM_REDUCE_ARITHMETIC_C, prod_reduce, __VA_ARGS__)

#define shmem_fetch(...) shmem_atomic_fetch(__VA_ARGS__)
#define shmem_set(...) shmem_atomic_set(__VA_ARGS__)
#define shmem_swap(...) shmem_atomic_swap(__VA_ARGS__)
#define shmem_cswap(...) shmem_atomic_compare_swap(__VA_ARGS__)
#define shmem_inc(...) shmem_atomic_inc(__VA_ARGS__)
#define shmem_finc(...) shmem_atomic_fetch_inc(__VA_ARGS__)
#define shmem_add(...) shmem_atomic_add(__VA_ARGS__)
#define shmem_fadd(...) shmem_atomic_fetch_add(__VA_ARGS__)

#define shmem_sync(...) \
  _Generic((RMQ_SHMEM_FIRST(__VA_ARGS__)), shmem_team_t : shmem_team_sync, default : shmem_sync)(__VA_ARGS__)

#endif
