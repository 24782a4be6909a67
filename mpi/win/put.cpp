// SPDX-License-Identifier: BSD-3-Clause
// Chapter 12.3.1 and 12.3.2: put and get.
#include "mpi/define.hpp"
#include "mpi/win/rma_args.hpp"

namespace rmq::mpi {
namespace {

[[gnu::always_inline]] inline int put(const Local& origin, const Remote& target, MPI_Win win, Function function) {
  if (rma::Window* w = short_way(win)) [[likely]] {
    const auto now = [&](std::uint64_t bytes) { return w->put_now(origin.data, bytes, target.rank, target.disp); };
    if (plain_run(origin, target, now)) [[likely]]
      return MPI_SUCCESS;
  }
  return enter_win(
      win,
      [&](Win & w) __attribute__((always_inline)) {
        if (is_nobody(w, target)) return;
        const DataView from = view_arg(origin);
        const rma::Target to = target_arg(target);
        check(w, w.window->put(from, to), to);
      },
      function);
}

[[gnu::always_inline]] inline int get(const Local& origin, const Remote& target, MPI_Win win, Function function) {
  if (rma::Window* w = short_way(win)) [[likely]] {
    const auto now = [&](std::uint64_t bytes) {
      return w->get_now(const_cast<void*>(origin.data), bytes, target.rank, target.disp);
    };
    if (plain_run(origin, target, now)) [[likely]]
      return MPI_SUCCESS;
  }
  return enter_win(
      win,
      [&](Win & w) __attribute__((always_inline)) {
        if (is_nobody(w, target)) return;
        const DataView to = view_arg(origin);
        const rma::Target from = target_arg(target);
        check(w, w.window->get(to, from), from);
      },
      function);
}

}  // namespace

RMQ_MPI(int, Put,
        (const void* origin_addr, int origin_count, MPI_Datatype origin_datatype, int target_rank, MPI_Aint target_disp,
         int target_count, MPI_Datatype target_datatype, MPI_Win win)) {
  return put({origin_addr, origin_count, origin_datatype}, {target_rank, target_disp, target_count, target_datatype},
             win, __func__);
}
RMQ_MPI(int, Put_c,
        (const void* origin_addr, MPI_Count origin_count, MPI_Datatype origin_datatype, int target_rank,
         MPI_Aint target_disp, MPI_Count target_count, MPI_Datatype target_datatype, MPI_Win win)) {
  return put({origin_addr, origin_count, origin_datatype}, {target_rank, target_disp, target_count, target_datatype},
             win, __func__);
}

RMQ_MPI(int, Get,
        (void* origin_addr, int origin_count, MPI_Datatype origin_datatype, int target_rank, MPI_Aint target_disp,
         int target_count, MPI_Datatype target_datatype, MPI_Win win)) {
  return get({origin_addr, origin_count, origin_datatype}, {target_rank, target_disp, target_count, target_datatype},
             win, __func__);
}
RMQ_MPI(int, Get_c,
        (void* origin_addr, MPI_Count origin_count, MPI_Datatype origin_datatype, int target_rank, MPI_Aint target_disp,
         MPI_Count target_count, MPI_Datatype target_datatype, MPI_Win win)) {
  return get({origin_addr, origin_count, origin_datatype}, {target_rank, target_disp, target_count, target_datatype},
             win, __func__);
}

}  // namespace rmq::mpi
