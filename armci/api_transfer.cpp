// SPDX-License-Identifier: BSD-3-Clause
// Put, get, accumulate and read-modify-write: ARMCI's functions.
#include <fmt/format.h>

#include <algorithm>

#include "armci/call.hpp"
#include "armci/transfer.hpp"
#include "rma/window/short_way.hpp"

namespace rmq::armci {
namespace {

std::uint64_t length(int bytes) {
  return bytes > 0 ? static_cast<std::uint64_t>(bytes) : 0;
}
std::span<const armci_giov_t> list(const armci_giov_t* vectors, int number) {
  return {vectors, static_cast<std::size_t>(std::max(number, 0))};
}

// In order to one place; what lies in two allocations has two ways there.
void raise_flag(int* flag, int value, const void* data, int proc) {
  std::uint64_t offset;
  const Part& of_flag = find(fn::Put_flag, flag, sizeof value, proc, offset);
  const Part& of_data = find(fn::Put_flag, data, 0, proc, offset);
  std::atomic_thread_fence(std::memory_order_release);
  if (of_flag.of != of_data.of && world().busy.load(std::memory_order_relaxed))
    enter(fn::Put_flag, [&] { complete(proc, false); });
  put(fn::Put_flag, &value, flag, sizeof value, proc);
}

template <class T>
void change(int op, T* mine, void* theirs, T value, int proc) {
  const bool adds = op == ARMCI_FETCH_AND_ADD || op == ARMCI_FETCH_AND_ADD_LONG;
  std::uint64_t offset;
  const Part& part = find(fn::Rmw, theirs, sizeof(T), proc, offset);
  if (!part.of) die(fn::Rmw, "the address is not from ARMCI_Malloc");
  const T in = adds ? value : *mine;
  const ReduceOp how = adds ? ReduceOp::sum : ReduceOp::replace;
  const Basic basic = sizeof(T) == 4 ? Basic::i32 : Basic::i64;
  rma::Window& window = *part.of->window;
  const auto disp = static_cast<std::int64_t>(offset);
  if (mpi::runtime().device->threads() || !window.combine_now(how, basic, &in, mine, part.place, disp)) [[unlikely]] {
    enter(fn::Rmw, [&] {
      const Layout* const one = mpi::find_datatype(sizeof(T) == 4 ? MPI_INT : MPI_LONG)->layout.get();
      check(fn::Rmw, window, window.fetch_and_op(&in, mine, {part.place, disp, one, 1}, how));
      rma::Completion here = window.completion(part.place, rma::Until::local);
      check(fn::Rmw, window, window.finish({&here, 1}));
    });
  }
  looked();
}

}  // namespace

// The blocking and the non-blocking form of an operation.
#define RMQ_ARMCI_ARGS(...) __VA_ARGS__
#define RMQ_ARMCI_BOTH(name, parameters, call)                                  \
  RMQ_ARMCI(int, name, (RMQ_ARMCI_ARGS parameters)) {                           \
    const Finish finish;                                                        \
    call;                                                                       \
    return 0;                                                                   \
  }                                                                             \
  RMQ_ARMCI(int, Nb##name, (RMQ_ARMCI_ARGS parameters, armci_hdl_t * handle)) { \
    const Finish finish = later(handle);                                        \
    call;                                                                       \
    return 0;                                                                   \
  }
#define RMQ_ARMCI_SHAPE void *src, int *src_stride, void *dst, int *dst_stride, int *count, int levels

RMQ_ARMCI_BOTH(Put, (void* src, void* dst, int bytes, int proc), put(fn::Put, src, dst, length(bytes), proc, finish))
RMQ_ARMCI_BOTH(Get, (void* src, void* dst, int bytes, int proc), get(fn::Get, src, dst, length(bytes), proc, finish))
RMQ_ARMCI_BOTH(Acc, (int type, void* scale, void* src, void* dst, int bytes, int proc),
               add(fn::Acc, scaled(fn::Acc, type, scale), src, {nullptr, &bytes, 0}, dst, nullptr, proc, finish))
RMQ_ARMCI_BOTH(PutS, (RMQ_ARMCI_SHAPE, int proc),
               strided(fn::PutS, Way::put, src, {src_stride, count, levels}, dst, dst_stride, proc, finish))
RMQ_ARMCI_BOTH(GetS, (RMQ_ARMCI_SHAPE, int proc),
               strided(fn::GetS, Way::get, dst, {dst_stride, count, levels}, src, src_stride, proc, finish))
RMQ_ARMCI_BOTH(AccS, (int type, void* scale, RMQ_ARMCI_SHAPE, int proc),
               add(fn::AccS, scaled(fn::AccS, type, scale), src, {src_stride, count, levels}, dst, dst_stride, proc,
                   finish))
RMQ_ARMCI_BOTH(PutV, (armci_giov_t * all, int number, int proc),
               vectors(fn::PutV, Way::put, list(all, number), proc, finish))
RMQ_ARMCI_BOTH(GetV, (armci_giov_t * all, int number, int proc),
               vectors(fn::GetV, Way::get, list(all, number), proc, finish))
RMQ_ARMCI_BOTH(AccV, (int type, void* scale, armci_giov_t* all, int number, int proc),
               add_vectors(fn::AccV, scaled(fn::AccV, type, scale), list(all, number), proc, finish))

#define RMQ_ARMCI_VALUE(name, type)                                                    \
  RMQ_ARMCI_BOTH(PutValue##name, (type value, void* dst, int proc),                    \
                 put(fn::Put, &value, dst, sizeof value, proc, {true, finish.handle})) \
  RMQ_ARMCI(type, GetValue##name, (void* src, int proc)) {                             \
    type value;                                                                        \
    get(fn::Get, src, &value, sizeof value, proc);                                     \
    return value;                                                                      \
  }
RMQ_ARMCI_VALUE(Int, int)
RMQ_ARMCI_VALUE(Long, long)
RMQ_ARMCI_VALUE(Float, float)
RMQ_ARMCI_VALUE(Double, double)

RMQ_ARMCI(int, Put_flag, (void* src, void* dst, int bytes, int* flag, int value, int proc)) {
  put(fn::Put_flag, src, dst, length(bytes), proc);
  raise_flag(flag, value, dst, proc);
  return 0;
}
RMQ_ARMCI(int, PutS_flag, (RMQ_ARMCI_SHAPE, int* flag, int value, int proc)) {
  strided(fn::Put_flag, Way::put, src, {src_stride, count, levels}, dst, dst_stride, proc, {});
  raise_flag(flag, value, dst, proc);
  return 0;
}

RMQ_ARMCI(int, Rmw, (int op, void* ploc, void* prem, int value, int proc)) {
  if (op == ARMCI_FETCH_AND_ADD || op == ARMCI_SWAP)
    change<int>(op, static_cast<int*>(ploc), prem, value, proc);
  else if (op != ARMCI_FETCH_AND_ADD_LONG && op != ARMCI_SWAP_LONG)
    die(fn::Rmw, fmt::format("{} is no operation", op));
  else
    change<long>(op, static_cast<long*>(ploc), prem, value, proc);
  return 0;
}

extern "C" RMQ_EXPORT void armci_write_strided(void* ptr, int levels, int* stride, int* count, char* buf) {
  auto* to = reinterpret_cast<std::byte*>(buf);
  auto* const from = static_cast<std::byte*>(ptr);
  for_each_row(from, stride, from, stride, count, levels, [&](std::byte* row, std::byte*) {
    copy_bytes(to, row, length(count[0]));
    to += count[0];
  });
}
extern "C" RMQ_EXPORT void armci_read_strided(void* ptr, int levels, int* stride, int* count, char* buf) {
  const auto* from = reinterpret_cast<const std::byte*>(buf);
  auto* const to = static_cast<std::byte*>(ptr);
  for_each_row(to, stride, to, stride, count, levels, [&](std::byte* row, std::byte*) {
    copy_bytes(row, from, length(count[0]));
    from += count[0];
  });
}

}  // namespace rmq::armci
