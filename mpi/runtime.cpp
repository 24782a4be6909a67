// Start and end of the process-wide instance.
#include "mpi/internal/runtime.hpp"

#include <fmt/format.h>
#include <pthread.h>

#include <cstdio>
#include <cstdlib>
#include <numeric>

#include "mpi/coll/choice.hpp"
#include "mpi/internal/attributes.hpp"
#include "mpi/internal/bsend.hpp"
#include "mpi/internal/call.hpp"
#include "mpi/internal/comms.hpp"
#include "mpi/internal/life.hpp"
#include "mpi/internal/report.hpp"
#include "mpi/internal/tool.hpp"
#include "mpi/internal/windows.hpp"

namespace rmq::mpi {

constinit detail::Immortal detail::instance;

namespace {

constexpr std::uint32_t kInit = call_id("Init");

/// Before there is an error handler: one line, and the job ends.
[[noreturn]] void give_up(Bootstrap* bootstrap, const Error& e) {
  if (bootstrap) bootstrap->abort(1, e.what);
  std::fprintf(stderr, "rmq: %s\n", e.what.c_str());
  std::exit(1);
}

void make_errhandlers(Runtime& rt) {
  const auto make = [&](MPI_Errhandler handle, Errhandler::Action action) {
    Errhandler& e = rt.builtin_errhandlers[handle_index(handle)];
    e.handle = handle;
    e.action = action;
  };
  make(MPI_ERRORS_ARE_FATAL, Errhandler::Action::fatal);
  make(MPI_ERRORS_RETURN, Errhandler::Action::return_);
  make(MPI_ERRORS_ABORT, Errhandler::Action::abort);
}

/// MPI_COMM_WORLD and MPI_COMM_SELF are not in the table of user handles: their handles are fixed.
Comm* make_builtin_comm(Runtime& rt, MPI_Comm handle, std::uint32_t context, std::vector<Rank> world,
                        const char* name) {
  auto* c = new Comm;
  c->handle = handle;
  c->context = c->recv_context = context;
  c->group = new_group(std::move(world));
  c->rank = c->group->rank;
  c->errhandler = &rt.builtin_errhandlers[handle_index(MPI_ERRORS_ARE_FATAL)];
  c->name = name;
  return c;
}

}  // namespace

void start_runtime(int thread_level) {
  Runtime& rt = runtime();
  auto bootstrap = connect_bootstrap();
  if (!bootstrap) give_up(nullptr, bootstrap.error());
  rt.bootstrap = std::move(*bootstrap);
  auto config = Config::from(tool::setting);
  if (!config) give_up(rt.bootstrap.get(), config.error());
  adi::DeviceOptions options;
  options.config = std::move(*config);
  options.threads = thread_level == MPI_THREAD_MULTIPLE;
  options.call = kInit;
  auto device = adi::Device::MPID_Init(std::move(options), *rt.bootstrap);
  if (!device) give_up(rt.bootstrap.get(), device.error());
  rt.device = std::move(*device);
  rt.device->trace().enter(kInit);
  rt.thread_level = thread_level;
  rt.main_thread = pthread_self();

  make_errhandlers(rt);
  rt.empty_group.handle = MPI_GROUP_EMPTY;
  rt.empty_group.predefined = true;
  init_builtin_types(rt);
  std::vector<Rank> everyone(static_cast<std::size_t>(rt.device->size()));
  std::iota(everyone.begin(), everyone.end(), 0);
  rt.world = make_builtin_comm(rt, MPI_COMM_WORLD, kWorldContext, std::move(everyone), "MPI_COMM_WORLD");
  rt.self = make_builtin_comm(rt, MPI_COMM_SELF, kSelfContext, {rt.device->rank()}, "MPI_COMM_SELF");
  tell_fortran();
  if (auto ok = coll::publish_choice(); !ok) give_up(rt.bootstrap.get(), ok.error());
  start_reports();
  rt.device->trace().leave(kInit, 0);
  publish_debug_root();
  if (rt.device->config().debug_gate) wait_for_debugger();
  // Release pairs with the acquire in is_active().
  rt.state.store(Runtime::State::active, std::memory_order_release);
}

int end_runtime() {
  Runtime& rt = runtime();
  // The program's last word (MPI-4.0, section 11.2.4), while everything still works.
  if (const int code = delete_all_attributes(rt.self->attributes, MPI_COMM_SELF); code != MPI_SUCCESS) return code;
  drain_bsend_buffer();
  // Messages that anyone still has to send go out before: each rank that leaves the barrier knows that all have come.
  Comm& world = *rt.world;
  note_collective(world);
  const int tag = next_collective_tag(world);
  for (int distance = 1; distance < world.size(); distance *= 2) {
    const int to = (world.rank + distance) % world.size();
    const int from = (world.rank - distance + world.size()) % world.size();
    const Buffer nothing{nullptr, 0, find_datatype(MPI_BYTE)};
    if (const int error = send_recv(world, to, nothing, from, nothing, tag); error != MPI_SUCCESS) {
      fail_call(error, "not all ranks have come to MPI_Finalize");
    }
  }
  end_windows();
  if (auto ok = rt.device->MPID_Finalize(); !ok) fail_call(error_class_of(ok.error().code), ok.error().what);
  if (auto ok = rt.bootstrap->finalize(); !ok) fail_call(error_class_of(ok.error().code), ok.error().what);
  return MPI_SUCCESS;
}

}  // namespace rmq::mpi
