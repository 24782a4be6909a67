// Chapter 11: start and end of MPI, thread levels.
#include <fmt/format.h>
#include <pthread.h>

#include <algorithm>

#include "mpi/internal/call.hpp"
#include "mpi/internal/life.hpp"

namespace rmq::mpi {
namespace {

int init(int required) {
  if (runtime().state.load(std::memory_order_acquire) != Runtime::State::before) {
    fail_call(MPI_ERR_OTHER, "MPI has been initialised already, and can be only once");
  }
  const int level = std::clamp(required, MPI_THREAD_SINGLE, MPI_THREAD_MULTIPLE);
  start_runtime(level);
  return level;
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
      [&] { *out(flag, "flag") = runtime().state.load(std::memory_order_acquire) != Runtime::State::before; });
}

RMQ_MPI(int, Finalized, (int* flag)) {
  return enter_first(
      [&] { *out(flag, "flag") = runtime().state.load(std::memory_order_acquire) == Runtime::State::after; });
}

RMQ_MPI(int, Finalize, (void)) {
  const int code = enter([&] { return end_runtime(); });
  // Release pairs with the acquire in is_active(), for other threads that ask MPI_Finalized.
  if (code == MPI_SUCCESS) runtime().state.store(Runtime::State::after, std::memory_order_release);
  return code;
}

RMQ_MPI(int, Query_thread, (int* provided)) {
  return enter([&] { *out(provided, "provided") = runtime().thread_level; });
}

RMQ_MPI(int, Is_thread_main, (int* flag)) {
  return enter([&] { *out(flag, "flag") = pthread_equal(pthread_self(), runtime().main_thread) != 0; });
}

RMQ_MPI(int, Abort, (MPI_Comm, int errorcode)) {
  Runtime& rt = runtime();
  if (!rt.is_active()) detail::refuse("MPI_Abort");
  rt.device->trace().end_in(call_id("Abort"));
  // No Entry: another thread may hold the device for ever.
  rt.device->MPID_Abort(errorcode, fmt::format("MPI_Abort was called with error code {}", errorcode));
}

}  // namespace rmq::mpi
