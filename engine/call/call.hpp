// SPDX-License-Identifier: BSD-3-Clause
// The frame of every function that a program calls. enter() refuses calls outside of MPI_Init and MPI_Finalize, holds
// the device for the body (a lock only under MPI_THREAD_MULTIPLE), tells the recorder which call runs (with several
// threads: the one that came last), and turns a Failure, or an error class or code that the body returns, into a call
// of the right error handler with the device released. The checks of arguments are in check.hpp; how MPI defines a
// function, in mpi/define.hpp.
#pragma once

#include <mutex>
#include <type_traits>

#include "engine/call/check.hpp"
#include "engine/call/function.hpp"
#include "engine/call/raise.hpp"
#include "engine/object/runtime.hpp"

#define RMQ_EXPORT __attribute__((visibility("default")))

namespace rmq::mpi {

namespace detail {
/// Says on stderr that `function` was called before MPI_Init or after MPI_Finalize, and exits.
[[noreturn]] void refuse(const char* function);
/// Stands in for the device while there is none.
std::mutex& outside_mutex();
/// Inside a catch block: the exception in flight becomes an error of `function`.
int raise_caught(int object, const char* function);

template <class Body, class... Args>
[[gnu::always_inline]] inline int run(Body& body, Args&... args) {
  if constexpr (std::is_void_v<std::invoke_result_t<Body&, Args&...>>) {
    body(args...);
    return MPI_SUCCESS;
  } else {
    return body(args...);
  }
}
}  // namespace detail

/// Runs `body()`, which returns nothing or an error class or code, as the function `function`. Errors go to the handler
/// that the Failure names, else to that of MPI_COMM_SELF.
template <class Body>
[[gnu::always_inline]] inline int enter(Body&& body, Function function = __builtin_FUNCTION()) {
  Runtime& rt = runtime();
  if (!rt.is_active()) [[unlikely]]
    detail::refuse(function);
  int code;
  try {
    adi::Device::Entry entry(*rt.device, function, function.id, function.collective);
    code = detail::run(body);
  } catch (...) {
    return detail::raise_caught(MPI_COMM_NULL, function);
  }
  if (code == MPI_SUCCESS) [[likely]]
    return code;
  return raise_error(MPI_COMM_NULL, function, Failure{code, {}, MPI_COMM_NULL});
}

/// The same for functions that need nothing of the device. They may be called at any time, by any thread whatever the
/// thread level. Before MPI_Init and after MPI_Finalize every error is fatal.
template <class Body>
inline int enter_always(Body&& body, Function function = __builtin_FUNCTION()) {
  int code;
  try {
    code = detail::run(body);
  } catch (...) {
    return detail::raise_caught(MPI_COMM_NULL, function);
  }
  if (code == MPI_SUCCESS) [[likely]]
    return code;
  return raise_error(MPI_COMM_NULL, function, Failure{code, {}, MPI_COMM_NULL});
}

/// The same for functions on objects that MPI lets live outside of MPI_Init and MPI_Finalize, from any thread whatever
/// the thread level (info objects, error handlers, sessions): the body, which needs nothing of the device, never runs
/// twice at once. Where no other thread may call but for these functions, the device is not held: this may be one.
template <class Body>
int enter_any_time(Body&& body, Function function = __builtin_FUNCTION()) {
  Runtime& rt = runtime();
  if (rt.is_active() && rt.thread_level == MPI_THREAD_MULTIPLE) return enter(body, function);
  try {
    const std::lock_guard lock(detail::outside_mutex());
    body();
    return MPI_SUCCESS;
  } catch (...) {
    return detail::raise_caught(MPI_COMM_NULL, function);
  }
}

/// The same for a function on a communicator: `body(Comm&)`. Errors go to the communicator's handler.
template <class Body>
[[gnu::always_inline]] inline int enter(MPI_Comm comm, Body&& body, Function function = __builtin_FUNCTION()) {
  Runtime& rt = runtime();
  if (!rt.is_active()) [[unlikely]]
    detail::refuse(function);
  int code;
  try {
    adi::Device::Entry entry(*rt.device, function, function.id, function.collective);
    Comm& c = comm_arg(comm);
    code = detail::run(body, c);
  } catch (...) {
    return detail::raise_caught(comm, function);
  }
  if (code == MPI_SUCCESS) [[likely]]
    return code;
  return raise_error(comm, function, Failure{code, {}, MPI_COMM_NULL});
}

}  // namespace rmq::mpi
