// SPDX-License-Identifier: BSD-3-Clause
// Chapter 9.9: collectives of teams and of active sets, on the algorithms of engine/coll/.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "shmem/collective.hpp"
#define RMQ_SHMEM_NO_OVERLOADS
#include "shmem/include/shmem.h"

namespace rmq::shmem {
namespace {

// ---- what the functions do; the device held ----

void barrier(Team& t) {
  run(t, coll::barrier);
}

void broadcast(Team& t, void* dest, const void* source, std::size_t bytes, int root) {
  if (root < 0 || root >= t.size())
    mpi::fail_call(MPI_ERR_ROOT, fmt::format("there is no PE {} in {}", root, t.comm->name));
  if (may_be_direct(t, bytes)) {
    const auto all = meet(t, source, dest, bytes);
    check_alike(t, all);
    if (all[static_cast<std::size_t>(root)].source != 0) return broadcast_directly(t, all, dest, bytes, root);
  }
  run(t, coll::bcast, coll::raw(t.me() == root ? source : dest, bytes), root);
}

void fcollect(Team& t, void* dest, const void* source, std::size_t bytes) {
  if (may_be_direct(t, bytes)) {
    const auto all = meet(t, source, dest, bytes);
    check_alike(t, all);
    if (sources_reached(all) && sources_apart(all, bytes * all.size(), true)) return collect_directly(t, all, dest);
  }
  run(t, coll::allgather, coll::raw(source, bytes), blocks(dest, bytes));
}

void collect(Team& t, void* dest, const void* source, std::size_t bytes) {
  const auto n = static_cast<std::size_t>(t.size());
  std::vector<MPI_Count> counts(n), places(n);
  auto mine = static_cast<MPI_Count>(bytes);
  run(t, coll::allgather, coll::raw(&mine, sizeof mine), blocks(counts.data(), sizeof mine));
  for (std::size_t i = 1; i < n; ++i) places[i] = places[i - 1] + counts[i - 1];
  if (const auto whole = static_cast<std::size_t>(places.back() + counts.back()); may_be_direct(t, whole)) {
    const auto all = meet(t, source, dest, bytes);
    if (sources_reached(all) && sources_apart(all, whole, true)) return collect_directly(t, all, dest);
  }
  run(t, coll::allgather, coll::raw(source, bytes),
      coll::Blocks::spread(dest, coll::Numbers(counts.data()), coll::Numbers(places.data()), coll::byte_type()));
}

void alltoall(Team& t, void* dest, const void* source, std::size_t bytes) {
  if (may_be_direct(t, bytes)) {
    const std::size_t whole = bytes * static_cast<std::size_t>(t.size());
    const auto all = meet(t, source, dest, whole);
    check_alike(t, all);
    if (sources_reached(all) && sources_apart(all, whole, false)) return alltoall_directly(t, all, dest, bytes);
  }
  run(t, coll::alltoall, blocks(source, bytes), blocks(dest, bytes));
}

void alltoalls(Team& t, void* dest, const void* source, std::ptrdiff_t dst, std::ptrdiff_t sst, std::size_t count,
               std::size_t each) {
  const std::size_t all = count * static_cast<std::size_t>(t.size());
  std::vector<std::byte> out(all * each), in(all * each);
  const auto* from = static_cast<const std::byte*>(source);
  auto* to = static_cast<std::byte*>(dest);
  const auto step = [each](std::ptrdiff_t stride, std::size_t i) {
    return stride * static_cast<std::ptrdiff_t>(i * each);
  };
  for (std::size_t i = 0; i < all; ++i) std::memcpy(&out[i * each], from + step(sst, i), each);
  alltoall(t, in.data(), out.data(), count * each);
  for (std::size_t i = 0; i < all; ++i) std::memcpy(to + step(dst, i), &in[i * each], each);
}

coll::Reduction reduction(std::size_t count, MPI_Datatype type, MPI_Op op) {
  return {*mpi::find_op(op), *mpi::find_datatype(type), static_cast<MPI_Count>(count), *mpi::runtime().device};
}

const void* or_in_place(const void* source, const void* dest) {
  return source == dest ? reinterpret_cast<const void*>(~std::uintptr_t{0}) : source;  // MPI_IN_PLACE
}

void reduce(Team& t, void* dest, const void* source, std::size_t count, MPI_Datatype type, MPI_Op op) {
  const coll::Reduction r = reduction(count, type, op);
  if (may_be_direct(t, count * r.type.size)) {
    const auto all = meet(t, source, dest, count * r.type.size);
    check_alike(t, all);
    if (sources_reached(all) && dests_reached(all)) return reduce_directly(t, all, r);
  }
  run(t, coll::allreduce, or_in_place(source, dest), dest, r);
}

// The first member's exclusive sum, of nothing, MPI leaves open; here it is 0.
void scan(Team& t, void* dest, const void* source, std::size_t count, MPI_Datatype type, bool inclusive) {
  const coll::Reduction r = reduction(count, type, MPI_SUM);
  const std::size_t bytes = count * r.type.size;
  if (may_be_direct(t, bytes)) {
    const auto all = meet(t, source, dest, bytes);
    check_alike(t, all);
    if (sources_reached(all) && dests_reached(all)) return scan_directly(t, all, r, inclusive);
  }
  run(t, inclusive ? coll::scan : coll::exscan, or_in_place(source, dest), dest, r);
  if (!inclusive && t.me() == 0) std::fill_n(static_cast<std::byte*>(dest), bytes, std::byte{});
}

// ---- frames ----

/// Of a team: 0, or not 0 for none.
template <class Body>
int on_team(const mpi::Function& f, shmem_team_t team, Body&& body) {
  if (team == SHMEM_TEAM_INVALID) return 1;
  enter(f, [&] { body(team_of(f, team)); });
  return 0;
}
template <class Body>
void on_set(const mpi::Function& f, int start, int log_stride, int size, Body&& body) {
  enter(f, [&] { body(active_set(start, log_stride, size)); });
}

// What was issued before a barrier is complete behind it.
}  // namespace

RMQ_SHMEM(void, barrier_all, (void)) {
  enter(fn::barrier_all, [] {
    settle();
    barrier(*world().all);
  });
}

RMQ_SHMEM(void, sync_all, (void)) {
  enter(fn::sync_all, [] { barrier(*world().all); });
}

RMQ_SHMEM(int, team_sync, (shmem_team_t team)) {
  return on_team(fn::team_sync, team, [](Team& t) { barrier(t); });
}

RMQ_SHMEM(void, barrier, (int start, int log_stride, int size, long*)) {
  on_set(fn::barrier, start, log_stride, size, [](Team& t) {
    settle();
    barrier(t);
  });
}

RMQ_SHMEM(void, sync, (int start, int log_stride, int size, long*)) {
  on_set(fn::sync, start, log_stride, size, [](Team& t) { barrier(t); });
}

// Of a team the root gets its data as well.
#define RMQ_SHMEM_TEAM(broadcast_, collect_, fcollect_, alltoall_, alltoalls_, T, each)                        \
  RMQ_SHMEM(int, broadcast_, (shmem_team_t team, T * dest, const T* source, size_t nelems, int root)) {        \
    return on_team(fn::broadcast, team, [&](Team& t) {                                                         \
      broadcast(t, dest, source, nelems*(each), root);                                                         \
      if (t.me() == root && dest != source) std::memmove(dest, source, nelems*(each));                         \
    });                                                                                                        \
  }                                                                                                            \
  RMQ_SHMEM(int, collect_, (shmem_team_t team, T * dest, const T* source, size_t nelems)) {                    \
    return on_team(fn::collect, team, [&](Team& t) { collect(t, dest, source, nelems*(each)); });              \
  }                                                                                                            \
  RMQ_SHMEM(int, fcollect_, (shmem_team_t team, T * dest, const T* source, size_t nelems)) {                   \
    return on_team(fn::fcollect, team, [&](Team& t) { fcollect(t, dest, source, nelems*(each)); });            \
  }                                                                                                            \
  RMQ_SHMEM(int, alltoall_, (shmem_team_t team, T * dest, const T* source, size_t nelems)) {                   \
    return on_team(fn::alltoall, team, [&](Team& t) { alltoall(t, dest, source, nelems*(each)); });            \
  }                                                                                                            \
  RMQ_SHMEM(int, alltoalls_,                                                                                   \
            (shmem_team_t team, T * dest, const T* source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems)) {     \
    return on_team(fn::alltoalls, team, [&](Team& t) { alltoalls(t, dest, source, dst, sst, nelems, each); }); \
  }
#define RMQ_SHMEM_ONE(N, T, X) \
  RMQ_SHMEM_TEAM(N##_broadcast, N##_collect, N##_fcollect, N##_alltoall, N##_alltoalls, T, sizeof(T))
RMQ_SHMEM_RMA(RMQ_SHMEM_ONE, )
#undef RMQ_SHMEM_ONE
RMQ_SHMEM_TEAM(broadcastmem, collectmem, fcollectmem, alltoallmem, alltoallsmem, void, 1)

#define RMQ_SHMEM_SET int start, int log_stride, int size, long *
#define RMQ_SHMEM_SETS(N, each)                                                                                       \
  RMQ_SHMEM(void, broadcast##N, (void* dest, const void* source, size_t nelems, int root, RMQ_SHMEM_SET)) {           \
    on_set(fn::broadcast, start, log_stride, size, [&](Team& t) { broadcast(t, dest, source, nelems* each, root); }); \
  }                                                                                                                   \
  RMQ_SHMEM(void, collect##N, (void* dest, const void* source, size_t nelems, RMQ_SHMEM_SET)) {                       \
    on_set(fn::collect, start, log_stride, size, [&](Team& t) { collect(t, dest, source, nelems* each); });           \
  }                                                                                                                   \
  RMQ_SHMEM(void, fcollect##N, (void* dest, const void* source, size_t nelems, RMQ_SHMEM_SET)) {                      \
    on_set(fn::fcollect, start, log_stride, size, [&](Team& t) { fcollect(t, dest, source, nelems* each); });         \
  }                                                                                                                   \
  RMQ_SHMEM(void, alltoall##N, (void* dest, const void* source, size_t nelems, RMQ_SHMEM_SET)) {                      \
    on_set(fn::alltoall, start, log_stride, size, [&](Team& t) { alltoall(t, dest, source, nelems* each); });         \
  }                                                                                                                   \
  RMQ_SHMEM(void, alltoalls##N,                                                                                       \
            (void* dest, const void* source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, RMQ_SHMEM_SET)) {           \
    on_set(fn::alltoalls, start, log_stride, size,                                                                    \
           [&](Team& t) { alltoalls(t, dest, source, dst, sst, nelems, each); });                                     \
  }
RMQ_SHMEM_SETS(32, 4)
RMQ_SHMEM_SETS(64, 8)

namespace {

// What MPI calls the types of reductions, and the operations.
constexpr MPI_Datatype k_float = MPI_FLOAT, k_double = MPI_DOUBLE, k_longdouble = MPI_LONG_DOUBLE,
                       k_char = MPI_SIGNED_CHAR, k_schar = MPI_SIGNED_CHAR, k_short = MPI_SHORT, k_int = MPI_INT,
                       k_long = MPI_LONG, k_longlong = MPI_LONG_LONG, k_uchar = MPI_UNSIGNED_CHAR,
                       k_ushort = MPI_UNSIGNED_SHORT, k_uint = MPI_UNSIGNED, k_ulong = MPI_UNSIGNED_LONG,
                       k_ulonglong = MPI_UNSIGNED_LONG_LONG, k_int8 = MPI_INT8_T, k_int16 = MPI_INT16_T,
                       k_int32 = MPI_INT32_T, k_int64 = MPI_INT64_T, k_uint8 = MPI_UINT8_T, k_uint16 = MPI_UINT16_T,
                       k_uint32 = MPI_UINT32_T, k_uint64 = MPI_UINT64_T, k_size = MPI_UNSIGNED_LONG,
                       k_ptrdiff = MPI_LONG, k_complexf = MPI_C_FLOAT_COMPLEX, k_complexd = MPI_C_DOUBLE_COMPLEX;

}  // namespace

#define RMQ_SHMEM_REDUCE(N, T, op, mpi_op)                                                               \
  RMQ_SHMEM(int, N##_##op##_reduce, (shmem_team_t team, T * dest, const T* source, size_t nreduce)) {    \
    return on_team(fn::reduce, team, [&](Team& t) { reduce(t, dest, source, nreduce, k_##N, mpi_op); }); \
  }
#define RMQ_SHMEM_ONE(N, T, X) \
  RMQ_SHMEM_REDUCE(N, T, and, MPI_BAND) RMQ_SHMEM_REDUCE(N, T, or, MPI_BOR) RMQ_SHMEM_REDUCE(N, T, xor, MPI_BXOR)
RMQ_SHMEM_REDUCE_BITWISE(RMQ_SHMEM_ONE, )
#undef RMQ_SHMEM_ONE
#define RMQ_SHMEM_ONE(N, T, X) RMQ_SHMEM_REDUCE(N, T, min, MPI_MIN) RMQ_SHMEM_REDUCE(N, T, max, MPI_MAX)
RMQ_SHMEM_REDUCE_ORDERED(RMQ_SHMEM_ONE, )
#undef RMQ_SHMEM_ONE
#define RMQ_SHMEM_ONE(N, T, X) RMQ_SHMEM_REDUCE(N, T, sum, MPI_SUM) RMQ_SHMEM_REDUCE(N, T, prod, MPI_PROD)
RMQ_SHMEM_REDUCE_ARITHMETIC(RMQ_SHMEM_ONE, )
#undef RMQ_SHMEM_ONE

#define RMQ_SHMEM_SCAN(N, T, name, inclusive)                                                          \
  RMQ_SHMEM(int, N##_##name, (shmem_team_t team, T * dest, const T* source, size_t nelems)) {          \
    return on_team(fn::name, team, [&](Team& t) { scan(t, dest, source, nelems, k_##N, inclusive); }); \
  }
#define RMQ_SHMEM_ONE(N, T, X) RMQ_SHMEM_SCAN(N, T, sum_inscan, true) RMQ_SHMEM_SCAN(N, T, sum_exscan, false)
RMQ_SHMEM_REDUCE_ARITHMETIC(RMQ_SHMEM_ONE, )
#undef RMQ_SHMEM_ONE

#define RMQ_SHMEM_TO_ALL(N, T, op, mpi_op)                                                               \
  RMQ_SHMEM(void, N##_##op##_to_all,                                                                     \
            (T * dest, const T* source, int nreduce, int start, int log_stride, int size, T*, long*)) {  \
    on_set(fn::reduce, start, log_stride, size,                                                          \
           [&](Team& t) { reduce(t, dest, source, static_cast<std::size_t>(nreduce), k_##N, mpi_op); }); \
  }
#define RMQ_SHMEM_ONE(N, T, X) \
  RMQ_SHMEM_TO_ALL(N, T, and, MPI_BAND) RMQ_SHMEM_TO_ALL(N, T, or, MPI_BOR) RMQ_SHMEM_TO_ALL(N, T, xor, MPI_BXOR)
RMQ_SHMEM_TO_ALL_BITWISE(RMQ_SHMEM_ONE, )
#undef RMQ_SHMEM_ONE
#define RMQ_SHMEM_ONE(N, T, X) RMQ_SHMEM_TO_ALL(N, T, min, MPI_MIN) RMQ_SHMEM_TO_ALL(N, T, max, MPI_MAX)
RMQ_SHMEM_TO_ALL_ORDERED(RMQ_SHMEM_ONE, )
#undef RMQ_SHMEM_ONE
#define RMQ_SHMEM_ONE(N, T, X) RMQ_SHMEM_TO_ALL(N, T, sum, MPI_SUM) RMQ_SHMEM_TO_ALL(N, T, prod, MPI_PROD)
RMQ_SHMEM_TO_ALL_ARITHMETIC(RMQ_SHMEM_ONE, )
#undef RMQ_SHMEM_ONE

}  // namespace rmq::shmem
