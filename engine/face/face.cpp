// SPDX-License-Identifier: BSD-3-Clause
#include "engine/face/face.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <utility>

#include "engine/call/raise.hpp"
#include "engine/life/life.hpp"
#include "engine/window/windows.hpp"

namespace rmq::mpi {
namespace {

// A program may end without an end of the face. One that ends badly does not wait for the others.
void on_exit_of_program(int status, void* of) {
  Face& face = *static_cast<Face*>(of);
  if (status != 0 || ::getpid() != face.exits || !face.is_active()) return;
  face.starts = 1;
  face.at_exit();
}

// Where MPI has ended for good, the launcher is no longer there to be told why.
bool join(int level, const Function& function) {
  try {
    return join_runtime(level, function.id, true);
  } catch (const Failure& f) {
    std::fprintf(stderr, "rmq: %s: %s\n", function.name, f.what.c_str());
    std::exit(1);
  }
}

}  // namespace

void Face::die(const char* function, const std::string& what, int code) const {
  adi::Device& device = *runtime().device;
  const int process = comm ? comm->rank : device.rank();
  device.MPID_Abort(code, fmt::format("{} on {} {}: {}", function, words.process, process, what), Blame::itself);
}

void Face::refuse(const char* function) const {
  const bool early = life.load(std::memory_order_acquire) == Life::before;
  std::fprintf(stderr, "rmq: %s was called %s %s\n", function, early ? "before" : "after",
               early ? words.first : words.last);
  std::fflush(stderr);
  if (runtime().device)
    runtime().device->MPID_Abort(1, fmt::format("{} was called too {}", function, early ? "early" : "late"),
                                 Blame::itself);
  std::exit(1);
}

void Face::bad_process(const char* function, int process) const {
  if (!is_active()) refuse(function);
  die(function, fmt::format("there is no {} {} (there are 0..{})", words.process, process, size - 1));
}

void Face::start(int level, const Function& function, const Start& with) {
  Runtime& rt = runtime();
  const std::lock_guard lock(life_mutex());
  if (starts++ > 0) return;
  with.prepare();
  const bool is_recorded = join(level, function);
  finish_at_exit();
  if (!at_exit) ::on_exit(on_exit_of_program, this);
  at_exit = with.at_exit;
  exits = ::getpid();
  const adi::Device::Entry entry(*rt.device, function, is_recorded ? 0 : function.id);
  try {
    session = hold_runtime();
    connect_job();
    comm = with.meet();
    me = comm->rank;
    crowded = rt.device->crowded();
    size = static_cast<unsigned>(comm->size());
    with.open();
    may_leave = false;
  } catch (const Failure& f) {
    die(function, f.what);
  }
  life.store(Life::active, std::memory_order_release);
}

bool Face::is_last_end() {
  const std::lock_guard lock(life_mutex());
  if (starts == 1) return true;
  --starts;
  return false;
}

void Face::end(const Function& function, const std::function<void()>& last, const std::function<void()>& drop) {
  enter(function, last);
  const std::lock_guard lock(life_mutex());
  {
    const adi::Device::Entry entry(*runtime().device);
    life.store(Life::after, std::memory_order_release);
    size = 0;
    starts = 0;
    drop();
    let_go_of_runtime(std::exchange(session, nullptr));
  }
  leave_runtime();
}

std::unique_ptr<rma::Window> Face::open_window(const Function& function, Comm& c, rma::WindowOptions options,
                                               const std::function<void(rma::Window&)>& attach) const {
  // Whatever this process does: it may wait for a store of the one that is lost, or for a lock which that one holds.
  options.on_lost = [this](Rank lost, bool) {
    if (life.load(std::memory_order_relaxed) == Life::active && !may_leave) end_for_loss(*runtime().device, lost);
  };
  auto window = prepare_window(c, std::move(options));
  if (attach) attach(*window);
  if (const auto opened = mpi::open_window(*window, c); !opened) die(function, opened.error().what);
  window->lock_all(rma::assertion::nocheck);
  return window;
}

}  // namespace rmq::mpi
