#include "armci/world.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <utility>

#include "armci/call.hpp"
#include "armci/mutex.hpp"
#include "engine/coll/coll.hpp"
#include "engine/life/life.hpp"

namespace rmq::armci {

constinit detail::Immortal detail::instance;

namespace {

::pid_t ends_at_exit = 0;

// A program may end with MPI_Finalize alone, or with none. One that ends badly does not wait for the others.
void on_exit_of_program(int status, void*) {
  World& w = world();
  if (status != 0 || ::getpid() != ends_at_exit || w.life.load(std::memory_order_acquire) != Life::active) return;
  w.users = 1;
  end();
}

}  // namespace

void refuse(const char* function) {
  const bool early = world().life.load(std::memory_order_acquire) == Life::before;
  std::fprintf(stderr, "rmq: %s was called %s\n", function, early ? "before ARMCI_Init" : "after ARMCI_Finalize");
  std::fflush(stderr);
  if (mpi::runtime().device)
    mpi::runtime().device->MPID_Abort(1, fmt::format("{} was called too {}", function, early ? "early" : "late"),
                                      Blame::itself);
  std::exit(1);
}

void die(const char* function, const std::string& what, int code) {
  mpi::Runtime& rt = mpi::runtime();
  rt.device->MPID_Abort(code, fmt::format("{} on process {}: {}", function, world().me, what), Blame::itself);
}

void check(const char* function, rma::Window& window, rma::Fault fault) {
  if (fault == rma::Fault::none) [[likely]]
    return;
  die(function, fault == rma::Fault::peer_lost ? window.lost() : std::string(rma::fault_text(fault)));
}

void detail::bad_proc(const char* function, int proc) {
  const World& w = world();
  if (w.life.load(std::memory_order_acquire) != Life::active) refuse(function);
  die(function, fmt::format("there is no process {} (there are 0..{})", proc, w.size - 1));
}

void start(int level, const MPI_Comm* comm) {
  World& w = world();
  mpi::Runtime& rt = mpi::runtime();
  const std::lock_guard life(mpi::life_mutex());
  if (w.users++ > 0) return;
  const bool is_recorded = mpi::join_runtime(level, fn::Init.id, true);
  mpi::finish_at_exit();
  if (ends_at_exit != ::getpid()) ::on_exit(on_exit_of_program, nullptr);
  ends_at_exit = ::getpid();
  const adi::Device::Entry entry(*rt.device, fn::Init, is_recorded ? 0 : fn::Init.id);
  try {
    w.session = mpi::hold_runtime();
    mpi::connect_job();
    mpi::Comm* const parent = comm ? mpi::find_comm(*comm) : rt.world;
    if (!parent || parent->is_inter()) die(fn::Init, "the communicator is none, or an inter-communicator");
    w.comm = mpi::create_comm(*parent, parent->group->world);
    w.comm->name = "ARMCI's world";
    w.me = w.comm->rank;
    w.crowded = rt.device->crowded();
    w.size = static_cast<unsigned>(w.comm->size());
    w.peers = std::make_unique<Peer[]>(w.size);
    w.threads = rt.thread_level == MPI_THREAD_MULTIPLE;
    for (unsigned i = 0; i < w.size; ++i) w.peers[i].forget();
    make_first_group();
  } catch (const mpi::Failure& f) {
    die(fn::Init, f.what);
  }
  w.life.store(Life::active, std::memory_order_release);
}

void end() {
  World& w = world();
  if (w.users > 1) {
    --w.users;
    return;
  }
  enter(fn::Finalize, [&] {
    complete(-1, false);
    mpi::coll::barrier(*w.comm);
    destroy_mutexes();
    while (!w.allocations.empty()) free(*w.allocations.back());
    mpi::coll::barrier(*w.comm);
  });
  const std::lock_guard life(mpi::life_mutex());
  {
    const adi::Device::Entry entry(*mpi::runtime().device);
    w.life.store(Life::after, std::memory_order_release);
    w.size = 0;
    w.users = 0;
    end_groups();
    w.peers.reset();
    mpi::let_go_of_runtime(std::exchange(w.session, nullptr));
  }
  mpi::leave_runtime();
}

}  // namespace rmq::armci
