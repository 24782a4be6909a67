// SPDX-License-Identifier: BSD-3-Clause
// The tools interface (MPI-4.0 chapter 15): what its functions share. It has a life and a lock of its own, works before
// MPI_Init and after MPI_Finalize, and returns codes: no error handler hears of it. Lock order: this lock, the device.
#pragma once

#include <mutex>
#include <new>
#include <string_view>

#include "engine/call/call.hpp"

namespace rmq::mpi::tool {

struct State {
  std::mutex mutex;
  int users = 0;  // MPI_T_init_thread without MPI_T_finalize yet
};
State& state();

/// Whether this thread runs a callback of an event: there it may hold the device already, or our lock, so that all
/// functions but those on the instance are not accessible.
inline thread_local bool in_callback = false;

/// MPI_T_finalize by the last user: sessions and handles end. tool/cvar.cpp, tool/pvar.cpp
void end_cvar_handles();
void end_pvar_sessions();

/// The frame of the functions: `body()` returns a code. A Failure is only a code here.
template <class Body>
int enter(Body&& body) {
  if (in_callback) return MPI_T_ERR_NOT_ACCESSIBLE;
  const std::lock_guard lock(state().mutex);
  if (state().users == 0) return MPI_T_ERR_NOT_INITIALIZED;
  try {
    return body();
  } catch (const Failure& f) {
    return f.code;
  } catch (const std::bad_alloc&) {
    return MPI_T_ERR_MEMORY;
  }
}

[[noreturn]] inline void refuse(int code) {
  throw Failure{code, {}, MPI_COMM_NULL};
}

template <class List>
const auto& at(const List& list, int index) {
  if (index < 0 || index >= std::ssize(list)) refuse(MPI_T_ERR_INVALID_INDEX);
  return list[static_cast<std::size_t>(index)];
}

/// Index of the element of that name. Throws MPI_T_ERR_INVALID_NAME.
template <class List, class Fits>
int index_of(const List& list, const char* name, Fits&& fits) {
  if (!name) refuse(MPI_T_ERR_INVALID_NAME);
  int i = 0;
  for (const auto& element : list) {
    if (element.name == name && fits(element)) return i;
    ++i;
  }
  refuse(MPI_T_ERR_INVALID_NAME);
}

/// Stores a result; the caller may not want it.
template <class T>
void put(T* to, T value) {
  if (to) *to = value;
}
template <class T>
T* needed(T* to) {
  if (!to) refuse(MPI_T_ERR_INVALID);
  return to;
}
/// As much of the text as the caller's *room bytes hold, closed with a zero; *room is then what it takes in full.
void put_text(char* to, int* room, std::string_view text);

/// Off and on: the enumeration of flags.
MPI_T_enum flag_enum();

}  // namespace rmq::mpi::tool
