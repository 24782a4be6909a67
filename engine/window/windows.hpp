// SPDX-License-Identifier: BSD-3-Clause
// Windows as MPI shows them: the object behind a handle, the frame of the functions that take one, the way from a fault
// of rma/ to an MPI error. What a window does is told in rma/window/window.hpp. Everything here needs the device held.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/call/call.hpp"
#include "rma/window/domain.hpp"
#include "rma/window/window.hpp"

namespace rmq::mpi {

namespace detail {
/// The window of the latest call, for the short way; null while other threads may call.
struct LatestWindow {
  MPI_Win handle = MPI_WIN_NULL;
  rma::Window* window = nullptr;
};
[[gnu::visibility("hidden")]] extern LatestWindow latest_window;

[[noreturn]] void bad_target(const Win& w, int rank, const char* name);
[[noreturn]] void bad_assertion(int assertion);
}  // namespace detail

/// A window comes or goes, or its agent, which is another thread: the next call takes no short way.
inline void forget_latest_window() {
  detail::latest_window = {};
}

/// What all windows of the process share, made for the first of them. Whoever asks is about to make one.
rma::Domain& shared_domain();
/// This member's part of a window over the members of `c`; rma::Window::prepare() says what comes of failures.
std::unique_ptr<rma::Window> prepare_window(const Comm& c, rma::WindowOptions options);
/// Collective over `talk`: all have prepared theirs. Errors are those of rma::Window::open().
Result<void> open_window(rma::Window& window, Comm& talk);

/// The window of a call that may go the short way (rma/window/short_way.hpp), else null: enter_win() then.
[[gnu::always_inline]] inline rma::Window* short_way(MPI_Win handle) {
  const detail::LatestWindow& latest = detail::latest_window;
  return latest.handle == handle ? latest.window : nullptr;
}

// ---- life: object.cpp ----

/// What differs between the functions that make windows.
struct NewWin {
  rma::Flavor flavor;
  void* base = nullptr;
  MPI_Aint size = 0;
  MPI_Aint disp_unit = 1;
  MPI_Info info = MPI_INFO_NULL;
};
/// Collective over an intra-communicator. Throws to its error handler.
Win& make_window(Comm& c, const NewWin& made);
/// Collective. Throws, or returns what a delete callback returned; else `handle` is null.
int free_window(Win& w, MPI_Win& handle);
/// MPI_Finalize: windows that the program has left, and what all share.
void end_windows();

// ---- info: hints.cpp ----

/// The value of a key; nullptr: it is absent.
const std::string* hint_of(const Info& info, std::string_view key);
/// Whether the key says what a window is made of, which stays.
bool is_structural_hint(std::string_view key);

/// What the info says to a new window; unknown keys and values are ignored, as the standard wants it.
rma::Hints hints_of(const Info* info);
/// What mpi_minimum_memory_alignment asks for, a power of two; 1 where it is absent or no such thing.
std::uint64_t alignment_of(const Info& info);
/// The keys that are known, as they are in use.
Info describe_hints(const rma::Hints& hints, rma::Flavor flavor);

// ---- faults: fault.cpp ----

/// Throws the MPI error of a fault. With `target`, of an operation on it.
[[noreturn]] void fail_fault(const Win& w, rma::Fault fault, const rma::Target* target = nullptr);
/// What an operation's request has found out.
Failure failure_of_fault(const Win* w, rma::Fault fault);

inline void check(const Win& w, rma::Fault fault) {
  if (fault != rma::Fault::none) [[unlikely]]
    fail_fault(w, fault);
}
inline void check(const Win& w, rma::Fault fault, const rma::Target& target) {
  if (fault != rma::Fault::none) [[unlikely]]
    fail_fault(w, fault, &target);
}

// ---- arguments ----

inline Win& win_arg(MPI_Win handle, const char* name = "win") {
  Win* w = find_win(handle);
  if (!w) [[unlikely]]
    detail::bad_handle(MPI_ERR_WIN, handle, name);
  return *w;
}

/// A place in the window, or MPI_PROC_NULL.
inline int target_arg(const Win& w, int rank, const char* name = "target_rank") {
  if ((rank < 0 || rank >= w.window->size()) && rank != MPI_PROC_NULL) [[unlikely]]
    detail::bad_target(w, rank, name);
  return rank;
}

/// Assertions as rma/ knows them; others than `allowed` are refused.
inline unsigned assertion_arg(int assertion, int allowed) {
  static_assert(MPI_MODE_NOCHECK >> 10 == rma::assertion::nocheck &&
                MPI_MODE_NOSTORE >> 10 == rma::assertion::nostore && MPI_MODE_NOPUT >> 10 == rma::assertion::noput &&
                MPI_MODE_NOPRECEDE >> 10 == rma::assertion::noprecede &&
                MPI_MODE_NOSUCCEED >> 10 == rma::assertion::nosucceed);
  if ((assertion & ~allowed) != 0) [[unlikely]]
    detail::bad_assertion(assertion);
  return static_cast<unsigned>(assertion) >> 10;
}

/// enter() of call.hpp for a function on a window: `body(Win&)`. Errors go to the window's handler.
template <class Body>
[[gnu::always_inline]] inline int enter_win(MPI_Win win, Body&& body, Function function = __builtin_FUNCTION()) {
  Runtime& rt = runtime();
  if (!rt.is_active()) [[unlikely]]
    detail::refuse(function);
  int code;
  try {
    adi::Device::Entry entry(*rt.device, function, function.id, function.collective);
    Win& w = win_arg(win);
    if (!rt.device->threads()) detail::latest_window = {win, w.window.get()};
    code = detail::run(body, w);
  } catch (...) {
    return detail::raise_caught(win, function);
  }
  if (code == MPI_SUCCESS) [[likely]]
    return code;
  return raise_error(win, function, Failure{code, {}, MPI_COMM_NULL});
}

}  // namespace rmq::mpi
