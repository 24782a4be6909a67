// SPDX-License-Identifier: BSD-3-Clause
// Chapter 12.2: making and freeing windows, their memory, groups and names.
#include <fmt/format.h>

#include <utility>

#include "engine/comm/comms.hpp"
#include "engine/window/windows.hpp"
#include "mpi/define.hpp"

namespace rmq::mpi {
namespace {

template <class Unit>
int create(void* base, MPI_Aint size, Unit disp_unit, MPI_Info info, MPI_Comm comm, MPI_Win* win, Function function) {
  return enter(
      comm,
      [&](Comm&) {
        Comm& c = intra_comm_arg(comm);
        *out(win, "win") = make_window(c, {rma::Flavor::create, base, size, disp_unit, info}).handle;
      },
      function);
}

/// The two that allocate; the address of the memory goes to `baseptr`.
template <class Unit>
int allocate(rma::Flavor flavor, MPI_Aint size, Unit disp_unit, MPI_Info info, MPI_Comm comm, void* baseptr,
             MPI_Win* win, Function function) {
  return enter(
      comm,
      [&](Comm&) {
        Comm& c = intra_comm_arg(comm);
        out(baseptr, "baseptr"), out(win, "win");
        const Win& w = make_window(c, {flavor, nullptr, size, disp_unit, info});
        *static_cast<void**>(baseptr) = w.window->base();
        *win = w.handle;
      },
      function);
}

/// Memory of a member as it lies in this process. As MPI-4.1 has it, also of windows that were not made to be shared:
/// none where it cannot be reached.
rma::SharedMemory shared_memory(const Win& w, int rank) {
  rma::SharedMemory memory;
  if (w.flavor == MPI_WIN_FLAVOR_DYNAMIC) {
    fail_call(MPI_ERR_RMA_FLAVOR, "argument win is a dynamic window, which has no memory that could be shared");
  }
  check(w, w.window->shared_query(target_arg(w, rank, "rank"), memory));
  return memory;
}

template <class Unit>
int shared_query(MPI_Win win, int rank, MPI_Aint* size, Unit* disp_unit, void* baseptr, Function function) {
  return enter_win(
      win,
      [&](Win& w) {
        out(size, "size"), out(disp_unit, "disp_unit"), out(baseptr, "baseptr");
        const rma::SharedMemory memory = shared_memory(w, rank);
        *size = static_cast<MPI_Aint>(memory.size);
        if (!std::in_range<Unit>(memory.disp_unit)) {
          fail_call(MPI_ERR_DISP,
                    fmt::format("the displacement unit {} does not fit argument disp_unit (MPI_Win_shared_query_c)",
                                memory.disp_unit));
        }
        *disp_unit = static_cast<Unit>(memory.disp_unit);
        *static_cast<void**>(baseptr) = memory.base;
      },
      function);
}

void check_dynamic(const Win& w) {
  if (w.flavor != MPI_WIN_FLAVOR_DYNAMIC) {
    fail_call(MPI_ERR_RMA_FLAVOR, "argument win is no dynamic window (MPI_Win_create_dynamic)");
  }
}

}  // namespace

RMQ_MPI(int, Win_create, (void* base, MPI_Aint size, int disp_unit, MPI_Info info, MPI_Comm comm, MPI_Win* win)) {
  return create(base, size, disp_unit, info, comm, win, __func__);
}
RMQ_MPI(int, Win_create_c,
        (void* base, MPI_Aint size, MPI_Aint disp_unit, MPI_Info info, MPI_Comm comm, MPI_Win* win)) {
  return create(base, size, disp_unit, info, comm, win, __func__);
}

RMQ_MPI(int, Win_allocate, (MPI_Aint size, int disp_unit, MPI_Info info, MPI_Comm comm, void* baseptr, MPI_Win* win)) {
  return allocate(rma::Flavor::allocate, size, disp_unit, info, comm, baseptr, win, __func__);
}
RMQ_MPI(int, Win_allocate_c,
        (MPI_Aint size, MPI_Aint disp_unit, MPI_Info info, MPI_Comm comm, void* baseptr, MPI_Win* win)) {
  return allocate(rma::Flavor::allocate, size, disp_unit, info, comm, baseptr, win, __func__);
}

RMQ_MPI(int, Win_allocate_shared,
        (MPI_Aint size, int disp_unit, MPI_Info info, MPI_Comm comm, void* baseptr, MPI_Win* win)) {
  return allocate(rma::Flavor::shared, size, disp_unit, info, comm, baseptr, win, __func__);
}
RMQ_MPI(int, Win_allocate_shared_c,
        (MPI_Aint size, MPI_Aint disp_unit, MPI_Info info, MPI_Comm comm, void* baseptr, MPI_Win* win)) {
  return allocate(rma::Flavor::shared, size, disp_unit, info, comm, baseptr, win, __func__);
}

RMQ_MPI(int, Win_shared_query, (MPI_Win win, int rank, MPI_Aint* size, int* disp_unit, void* baseptr)) {
  return shared_query(win, rank, size, disp_unit, baseptr, __func__);
}
RMQ_MPI(int, Win_shared_query_c, (MPI_Win win, int rank, MPI_Aint* size, MPI_Aint* disp_unit, void* baseptr)) {
  return shared_query(win, rank, size, disp_unit, baseptr, __func__);
}

RMQ_MPI(int, Win_create_dynamic, (MPI_Info info, MPI_Comm comm, MPI_Win* win)) {
  return enter(comm, [&](Comm&) {
    Comm& c = intra_comm_arg(comm);
    *out(win, "win") = make_window(c, {.flavor = rma::Flavor::dynamic, .info = info}).handle;
  });
}

RMQ_MPI(int, Win_attach, (MPI_Win win, void* base, MPI_Aint size)) {
  return enter_win(win, [&](Win& w) {
    check_dynamic(w);
    if (size < 0) fail_call(MPI_ERR_SIZE, fmt::format("invalid size {} (argument size; must not be negative)", size));
    if (!base && size > 0) detail::null_argument(MPI_ERR_BASE, "base");
    check(w, w.window->attach(base, static_cast<std::uint64_t>(size)));
  });
}

RMQ_MPI(int, Win_detach, (MPI_Win win, const void* base)) {
  return enter_win(win, [&](Win& w) {
    check_dynamic(w);
    check(w, w.window->detach(const_cast<void*>(base)));
  });
}

RMQ_MPI(int, Win_free, (MPI_Win * win)) {
  return enter_win(win ? *win : MPI_WIN_NULL, [&](Win& w) { return free_window(w, *win); });
}

RMQ_MPI(int, Win_get_group, (MPI_Win win, MPI_Group* group)) {
  return enter_win(win, [&](Win& w) {
    *out(group, "group") = w.comm->group->handle;
    retain(*w.comm->group);
  });
}

RMQ_MPI(int, Win_set_name, (MPI_Win win, const char* win_name)) {
  return enter_win(win, [&](Win& w) {
    w.name.assign(out(win_name, "win_name"));
    if (w.name.size() >= MPI_MAX_OBJECT_NAME) w.name.resize(MPI_MAX_OBJECT_NAME - 1);
  });
}

RMQ_MPI(int, Win_get_name, (MPI_Win win, char* win_name, int* resultlen)) {
  if (win == MPI_WIN_NULL) {
    return enter(
        [&] { out_text(out(win_name, "win_name"), MPI_MAX_OBJECT_NAME, out(resultlen, "resultlen"), "MPI_WIN_NULL"); });
  }
  return enter_win(win, [&](Win& w) {
    out_text(out(win_name, "win_name"), MPI_MAX_OBJECT_NAME, out(resultlen, "resultlen"), w.name);
  });
}

}  // namespace rmq::mpi
