// SPDX-License-Identifier: BSD-3-Clause
// Chapter 11: start and end of MPI, thread levels.
#include <fmt/format.h>
#include <pthread.h>
#include <unistd.h>

#include <cstdio>

#include "engine/life/life.hpp"
#include "mpi/define.hpp"
#include "mpi/dynamic/spawn.hpp"
#include "mpi/env/fortran.hpp"
#include "start/exit.hpp"

namespace rmq::mpi {
namespace {

int init(int required) {
  Runtime& rt = runtime();
  const std::lock_guard life(life_mutex());
  if (rt.world_model.load(std::memory_order_acquire) != Runtime::State::before) {
    fail_call(MPI_ERR_OTHER, "MPI has been initialised already, and can be only once");
  }
  constexpr Function function("MPI_Init");
  const bool is_recorded = join_runtime(required, function.id, false);
  rt.main_thread = pthread_self();
  tell_fortran();
  {
    const adi::Device::Entry entry(*rt.device, function, is_recorded ? 0 : function.id, function.collective);
    find_parents();
  }
  rt.world_model.store(Runtime::State::active, std::memory_order_release);
  return rt.thread_level;  // that of the first session, if there was one before
}

/// enter() for MPI_Init, which makes what enter() needs.
template <class Body>
int enter_first(Body&& body, Function function = __builtin_FUNCTION()) {
  try {
    body();
    return MPI_SUCCESS;
  } catch (...) {
    return detail::raise_caught(MPI_COMM_NULL, function);
  }
}

/// In a job that goes on when ranks die: the end of the communicator's group alone, unless that is all of the job. The
/// launcher ends the others as ranks that this one has lost, and hears why this one ends.
void abort_part(MPI_Comm comm, int code) {
  Runtime& rt = runtime();
  const Comm* const c = find_comm(comm);
  if (!c || c->group->size() >= rt.world->size()) return;
  const std::string why = fmt::format("has called MPI_Abort on {} with error code {}",
                                      c->name.empty() ? "a communicator of some ranks" : c->name, code);
  for (const Rank r : c->group->world) {
    if (r != rt.device->rank() && r < rt.world->size()) rt.bootstrap->accuse({}, r, "it " + why);
  }
  rt.bootstrap->accuse({}, rt.device->rank(), why);
  boot::flush_and_exit(code);
}

}  // namespace

RMQ_MPI(int, Init, (int*, char***)) {
  return enter_first([&] { init(MPI_THREAD_SINGLE); });
}

RMQ_MPI(int, Init_thread, (int*, char***, int required, int* provided)) {
  return enter_first([&] {
    if (required < MPI_THREAD_SINGLE || required > MPI_THREAD_MULTIPLE) {
      fail_call(MPI_ERR_ARG, "argument required is no thread level");
    }
    *out(provided, "provided") = init(required);
  });
}

RMQ_MPI(int, Initialized, (int* flag)) {
  return enter_first(
      [&] { *out(flag, "flag") = runtime().world_model.load(std::memory_order_acquire) != Runtime::State::before; });
}

RMQ_MPI(int, Finalized, (int* flag)) {
  return enter_first(
      [&] { *out(flag, "flag") = runtime().world_model.load(std::memory_order_acquire) == Runtime::State::after; });
}

RMQ_MPI(int, Finalize, (void)) {
  Runtime& rt = runtime();
  if (rt.world_model.load(std::memory_order_acquire) != Runtime::State::active) detail::refuse("MPI_Finalize");
  const int code = enter([&] { return end_world(); });
  if (code != MPI_SUCCESS) return code;
  const std::lock_guard life(life_mutex());
  // Release pairs with the acquire in MPI_Finalized, for other threads.
  rt.world_model.store(Runtime::State::after, std::memory_order_release);
  leave_runtime();
  return MPI_SUCCESS;
}

// Also for threads that may call nothing else: these do not hold the device.
RMQ_MPI(int, Query_thread, (int* provided)) {
  if (!runtime().is_active()) detail::refuse("MPI_Query_thread");
  return enter_always([&] { *out(provided, "provided") = runtime().thread_level; });
}

RMQ_MPI(int, Is_thread_main, (int* flag)) {
  if (!runtime().is_active()) detail::refuse("MPI_Is_thread_main");
  return enter_always([&] { *out(flag, "flag") = pthread_equal(pthread_self(), runtime().main_thread) != 0; });
}

RMQ_MPI(int, Abort, (MPI_Comm comm, int errorcode)) {
  Runtime& rt = runtime();
  if (!rt.is_active()) detail::refuse("MPI_Abort");
  // No Entry: another thread may hold the device for ever.
  if (rt.ft) abort_part(comm, errorcode);
  rt.device->trace().end_in(call_id("Abort"));
  rt.device->MPID_Abort(errorcode, fmt::format("MPI_Abort was called with error code {}", errorcode), Blame::itself);
}

}  // namespace rmq::mpi
