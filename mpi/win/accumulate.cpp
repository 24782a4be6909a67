// SPDX-License-Identifier: BSD-3-Clause
// Chapter 12.3.4: accumulates. Element-wise atomic with each other, whatever their functions.
#include "mpi/define.hpp"
#include "mpi/win/rma_args.hpp"

namespace rmq::mpi {
namespace {

[[gnu::always_inline]] inline int accumulate(const Local& origin, const Remote& target, MPI_Op op, MPI_Win win,
                                             Function function) {
  if (rma::Window* w = short_way(win); w && origin.count == 1 && op != MPI_NO_OP) [[likely]] {
    const auto now = [&](std::uint64_t) {
      const Basic basic = plain_type(origin.type)->basic;
      return w->combine_now(plain_op(op), basic, origin.data, nullptr, target.rank, target.disp);
    };
    if (plain_run(origin, target, now)) [[likely]]
      return MPI_SUCCESS;
  }
  return enter_win(
      win,
      [&](Win & w) __attribute__((always_inline)) {
        const ReduceOp reduction = plain_op_arg(op);
        if (is_nobody(w, target)) return;
        const DataView from = view_arg(origin);
        const rma::Target to = target_arg(target);
        check(w, w.window->accumulate(from, to, reduction), to);
      },
      function);
}

[[gnu::always_inline]] inline int get_accumulate(const Local& origin, const Local& result, const Remote& target,
                                                 MPI_Op op, MPI_Win win, Function function) {
  return enter_win(
      win,
      [&](Win & w) __attribute__((always_inline)) {
        const ReduceOp reduction = accumulate_op_arg(op);
        if (is_nobody(w, target)) return;
        const DataView from = fetch_origin_arg(origin, reduction);
        const DataView before = view_arg(result, kResult);
        const rma::Target to = target_arg(target);
        check(w, w.window->get_accumulate(from, before, to, reduction), to);
      },
      function);
}

}  // namespace

RMQ_MPI(int, Accumulate,
        (const void* origin_addr, int origin_count, MPI_Datatype origin_datatype, int target_rank, MPI_Aint target_disp,
         int target_count, MPI_Datatype target_datatype, MPI_Op op, MPI_Win win)) {
  return accumulate({origin_addr, origin_count, origin_datatype},
                    {target_rank, target_disp, target_count, target_datatype}, op, win, __func__);
}
RMQ_MPI(int, Accumulate_c,
        (const void* origin_addr, MPI_Count origin_count, MPI_Datatype origin_datatype, int target_rank,
         MPI_Aint target_disp, MPI_Count target_count, MPI_Datatype target_datatype, MPI_Op op, MPI_Win win)) {
  return accumulate({origin_addr, origin_count, origin_datatype},
                    {target_rank, target_disp, target_count, target_datatype}, op, win, __func__);
}

RMQ_MPI(int, Get_accumulate,
        (const void* origin_addr, int origin_count, MPI_Datatype origin_datatype, void* result_addr, int result_count,
         MPI_Datatype result_datatype, int target_rank, MPI_Aint target_disp, int target_count,
         MPI_Datatype target_datatype, MPI_Op op, MPI_Win win)) {
  return get_accumulate({origin_addr, origin_count, origin_datatype}, {result_addr, result_count, result_datatype},
                        {target_rank, target_disp, target_count, target_datatype}, op, win, __func__);
}
RMQ_MPI(int, Get_accumulate_c,
        (const void* origin_addr, MPI_Count origin_count, MPI_Datatype origin_datatype, void* result_addr,
         MPI_Count result_count, MPI_Datatype result_datatype, int target_rank, MPI_Aint target_disp,
         MPI_Count target_count, MPI_Datatype target_datatype, MPI_Op op, MPI_Win win)) {
  return get_accumulate({origin_addr, origin_count, origin_datatype}, {result_addr, result_count, result_datatype},
                        {target_rank, target_disp, target_count, target_datatype}, op, win, __func__);
}

RMQ_MPI(int, Fetch_and_op,
        (const void* origin_addr, void* result_addr, MPI_Datatype datatype, int target_rank, MPI_Aint target_disp,
         MPI_Op op, MPI_Win win)) {
  if (rma::Window* w = short_way(win); w && origin_addr && result_addr) [[likely]] {
    const Datatype* type = plain_type(datatype);
    if (type && w->combine_now(plain_op(op), type->basic, origin_addr, result_addr, target_rank, target_disp))
        [[likely]]
      return MPI_SUCCESS;
  }
  return enter_win(
      win,
      [&](Win & w) __attribute__((always_inline)) {
        const ReduceOp reduction = accumulate_op_arg(op);
        if (target_arg(w, target_rank) == MPI_PROC_NULL) return;
        const rma::Target to = element_arg(target_rank, target_disp, datatype);
        if (!origin_addr && reduction != ReduceOp::no_op) [[unlikely]]
          detail::null_argument(MPI_ERR_BUFFER, "origin_addr");
        if (!result_addr) [[unlikely]]
          detail::null_argument(MPI_ERR_BUFFER, "result_addr");
        check(w, w.window->fetch_and_op(origin_addr, result_addr, to, reduction), to);
      },
      __func__);
}

RMQ_MPI(int, Compare_and_swap,
        (const void* origin_addr, const void* compare_addr, void* result_addr, MPI_Datatype datatype, int target_rank,
         MPI_Aint target_disp, MPI_Win win)) {
  if (rma::Window* w = short_way(win); w && origin_addr && compare_addr && result_addr) [[likely]] {
    const Datatype* type = plain_type(datatype);
    if (type && w->swap_now(type->basic, origin_addr, compare_addr, result_addr, target_rank, target_disp)) [[likely]]
      return MPI_SUCCESS;
  }
  return enter_win(
      win,
      [&](Win & w) __attribute__((always_inline)) {
        if (target_arg(w, target_rank) == MPI_PROC_NULL) return;
        const rma::Target to = element_arg(target_rank, target_disp, datatype);
        if (!origin_addr) [[unlikely]]
          detail::null_argument(MPI_ERR_BUFFER, "origin_addr");
        if (!compare_addr) [[unlikely]]
          detail::null_argument(MPI_ERR_BUFFER, "compare_addr");
        if (!result_addr) [[unlikely]]
          detail::null_argument(MPI_ERR_BUFFER, "result_addr");
        check(w, w.window->compare_and_swap(origin_addr, compare_addr, result_addr, to), to);
      },
      __func__);
}

}  // namespace rmq::mpi
