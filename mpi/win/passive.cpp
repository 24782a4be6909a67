// SPDX-License-Identifier: BSD-3-Clause
// Chapter 12.5.3 and 12.5.4: passive target: lock and unlock, flush and sync. Nobody locks MPI_PROC_NULL, so that these
// calls do nothing for it.
#include <fmt/format.h>

#include "engine/window/windows.hpp"
#include "mpi/define.hpp"
#include "rma/window/short_way.hpp"

namespace rmq::mpi {
namespace {

rma::LockType lock_type_arg(int type) {
  if (type == MPI_LOCK_SHARED) return rma::LockType::shared;
  if (type == MPI_LOCK_EXCLUSIVE) return rma::LockType::exclusive;
  fail_call(MPI_ERR_LOCKTYPE, fmt::format("invalid lock type {} (argument lock_type; allowed MPI_LOCK_SHARED and "
                                          "MPI_LOCK_EXCLUSIVE)",
                                          type));
}

/// A call that is about one target: `body(Win&, int rank)`.
template <class Body>
[[gnu::always_inline]] inline int enter_for(int rank, MPI_Win win, Body&& body,
                                            Function function = __builtin_FUNCTION()) {
  return enter_win(
      win,
      [&](Win & w) __attribute__((always_inline)) {
        if (target_arg(w, rank, "rank") == MPI_PROC_NULL) [[unlikely]]
          return;
        check(w, body(w));
      },
      function);
}

}  // namespace

RMQ_MPI(int, Win_lock, (int lock_type, int rank, int assertion, MPI_Win win)) {
  return enter_for(rank, win, [&](Win& w) {
    const rma::LockType type = lock_type_arg(lock_type);
    const unsigned assertions = assertion_arg(assertion, MPI_MODE_NOCHECK);
    return w.window->lock(type, rank, assertions);
  });
}

RMQ_MPI(int, Win_unlock, (int rank, MPI_Win win)) {
  return enter_for(rank, win, [&](Win& w) { return w.window->unlock(rank); });
}

RMQ_MPI(int, Win_lock_all, (int assertion, MPI_Win win)) {
  return enter_win(win, [&](Win& w) {
    const unsigned assertions = assertion_arg(assertion, MPI_MODE_NOCHECK);
    check(w, w.window->lock_all(assertions));
  });
}

RMQ_MPI(int, Win_unlock_all, (MPI_Win win)) {
  return enter_win(win, [&](Win& w) { check(w, w.window->unlock_all()); });
}

RMQ_MPI(int, Win_flush, (int rank, MPI_Win win)) {
  if (rma::Window* w = short_way(win); w && w->flush_now(rank)) [[likely]]
    return MPI_SUCCESS;
  return enter_for(
      rank, win, [&](Win & w) __attribute__((always_inline)) { return w.window->flush(rank); });
}

RMQ_MPI(int, Win_flush_all, (MPI_Win win)) {
  return enter_win(win, [&](Win& w) { check(w, w.window->flush_all()); });
}

RMQ_MPI(int, Win_flush_local, (int rank, MPI_Win win)) {
  return enter_for(
      rank, win, [&](Win & w) __attribute__((always_inline)) { return w.window->flush_local(rank); });
}

RMQ_MPI(int, Win_flush_local_all, (MPI_Win win)) {
  return enter_win(win, [&](Win& w) { check(w, w.window->flush_local_all()); });
}

RMQ_MPI(int, Win_sync, (MPI_Win win)) {
  return enter_win(win, [&](Win& w) { check(w, w.window->sync()); });
}

}  // namespace rmq::mpi
