// SPDX-License-Identifier: BSD-3-Clause
// A face beside MPI's, over its runtime: start and end, the frame of calls that need the device, and errors, which end
// the job with one line that names the function, the process and what is wrong.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <new>
#include <string>

#include "engine/call/function.hpp"
#include "engine/face/looks.hpp"
#include "engine/object/failure.hpp"
#include "engine/object/runtime.hpp"
#include "rma/window/window.hpp"

namespace rmq::mpi {

enum class Life : unsigned char { before, active, after };

/// The one process-wide instance of a face, which adds what it needs.
struct Face {
  /// What its messages say.
  struct Words {
    const char *first, *last;  // the functions that start it and end it
    const char* process;
  };

  // What each operation reads comes first.
  unsigned size = 0;  // processes; 0 while the face is not active: then no process is a valid one
  int me = 0;
  bool crowded = false;  // processes outnumber CPUs
  Looks looks;           // for a poll now and then
  std::atomic<Life> life{Life::before};
  bool may_leave = false;  // in its last end: nobody needs this process any more; the device held

  int starts = 0;              // whose end is to come; life_mutex() held
  Comm* comm = nullptr;        // of all its processes
  Session* session = nullptr;  // keeps MPI's runtime alive
  const Words& words;
  void (*at_exit)() = nullptr;  // called when this process exits without an end of the face …
  int exits = 0;                // … if it still has this id, and is no child that was forked

  explicit constexpr Face(const Words& w) : words(w) {}
  bool is_active() const { return life.load(std::memory_order_acquire) == Life::active; }

  /// Ends the job.
  [[noreturn]] void die(const char* function, const std::string& what, int code = 1) const;
  /// Says why the call came too early or too late, and ends the process.
  [[noreturn]] void refuse(const char* function) const;
  /// That process cannot be meant.
  [[noreturn]] void bad_process(const char* function, int process) const;
  /// What rma/ has found wrong with what this process has issued; none: nothing.
  void check(const char* function, const rma::Window& window, rma::Fault fault) const {
    if (fault == rma::Fault::none) [[likely]]
      return;
    die(function, fault == rma::Fault::peer_lost ? window.lost() : std::string(rma::fault_text(fault)));
  }

  /// Runs `body()` with the device held.
  template <class Body>
  auto enter(const Function& function, Body&& body) const {
    if (!is_active()) [[unlikely]]
      refuse(function);
    try {
      const adi::Device::Entry entry(*runtime().device, function, function.id, function.collective);
      return body();
    } catch (const Failure& f) {
      die(function, f.what.empty() ? std::string("it has failed") : f.what);
    } catch (const std::bad_alloc&) {
      die(function, "no memory is left");
    }
  }

  /// What start() calls, in this order.
  struct Start {
    std::function<void()> prepare;  // before there is a device
    std::function<Comm*()> meet;    // once there is: the communicator of all its processes, with a name
    std::function<void()> open;     // whatever else it needs
    void (*at_exit)();              // at the end of a program that has not called it
  };
  /// Collective. Where the face is active it only counts. `level`: of threads, where MPI has not begun yet.
  void start(int level, const Function& function, const Start& with);
  /// Collective. Whether the end of the latest start is that of the face: end() then.
  bool is_last_end();
  /// Collective. `last`: what all do while everything is there, with a barrier behind it; `drop`: what is given back.
  void end(const Function& function, const std::function<void()>& last, const std::function<void()>& drop);

  /// Collective over `c`: a window in an epoch without locks that lasts as long as it does, in a context that no
  /// communicator but perhaps `c` has. `options` has no members yet; `attach`: before others may use it.
  std::unique_ptr<rma::Window> open_window(const Function& function, Comm& c, rma::WindowOptions options,
                                           const std::function<void(rma::Window&)>& attach = {}) const;
};

}  // namespace rmq::mpi
