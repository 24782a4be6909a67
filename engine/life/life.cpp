// SPDX-License-Identifier: BSD-3-Clause
#include "engine/life/life.hpp"

#include <fmt/format.h>
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <numeric>

#include "base/os/standard_streams.hpp"
#include "engine/call/call.hpp"
#include "engine/coll/choice.hpp"
#include "engine/comm/comms.hpp"
#include "engine/comm/group_agreement.hpp"
#include "engine/ft/faults.hpp"
#include "engine/life/losses.hpp"
#include "engine/life/report.hpp"
#include "engine/life/settings.hpp"
#include "engine/message/bsend.hpp"
#include "engine/message/task.hpp"
#include "engine/object/attributes.hpp"
#include "engine/object/deaths.hpp"
#include "engine/object/runtime.hpp"
#include "engine/window/windows.hpp"
#include "engine/worlds/bonds.hpp"

namespace rmq::mpi {
namespace {

using Sessions = Runtime::Sessions;

std::atomic<::pid_t> exits{0};  // process that ends MPI when it does

/// Before there is an error handler: one line, and the job ends.
[[noreturn]] void give_up(Bootstrap* bootstrap, const Error& e) {
  if (bootstrap) bootstrap->abort(1, e.what, e.code == Errc::peer_lost ? Blame::lost_peer : Blame::itself);
  std::fprintf(stderr, "rmq: %s\n", e.what.c_str());
  std::exit(1);
}

/// MPI_COMM_WORLD and MPI_COMM_SELF are not in the table of user handles: their handles are fixed.
Comm* make_builtin_comm(MPI_Comm handle, std::uint32_t context, Ranks world, const coll::Terms& terms,
                        const char* name) {
  Runtime& rt = runtime();
  auto* c = new Comm;
  c->handle = handle;
  c->device = rt.device.get();
  c->terms = &terms;
  c->context = c->recv_context = context;
  c->group = new_group(std::move(world));
  c->rank = c->group->rank;
  c->errhandler = &rt.unset_errhandler;
  c->name = name;
  return c;
}

/// A job that goes on when ranks die starts with all of them: what one needs of another to begin is there then.
void meet_before_deaths() {
  Runtime& rt = runtime();
  if (!rt.ft) return;
  if (auto met = rt.bootstrap->fence(); !met) give_up(rt.bootstrap.get(), met.error());
}

void start(int thread_level, std::uint32_t call, bool connect) {
  os::hold_standard_streams();
  Runtime& rt = runtime();
  auto bootstrap = connect_bootstrap();
  if (!bootstrap) give_up(nullptr, bootstrap.error());
  rt.bootstrap = std::move(*bootstrap);
  auto config = Config::from(setting);
  if (!config) give_up(rt.bootstrap.get(), config.error());
  adi::DeviceOptions options;
  options.config = std::move(*config);
  options.threads = thread_level == MPI_THREAD_MULTIPLE;
  options.connect = connect;
  options.call = call;
  options.minds = is_fatal;
  options.on_lost = end_for_loss;
  options.on_parted = end_for_parting;
  auto device = adi::Device::MPID_Init(std::move(options), *rt.bootstrap);
  if (!device) give_up(rt.bootstrap.get(), device.error());
  rt.device = std::move(*device);
  rt.device->trace().enter(call);
  ft::start();
  rt.faults->refuse_in_group = ft::refuse_in_group;
  rt.thread_level = thread_level;
  rt.main_thread = pthread_self();

  rt.empty_group.handle = MPI_GROUP_EMPTY;
  rt.empty_group.predefined = true;
  init_builtin_types(rt);
  const coll::Traits traits = coll::own_traits(*rt.device);
  auto settled = coll::settle_terms(*rt.bootstrap, rt.device->config().coll, traits);
  if (!settled) give_up(rt.bootstrap.get(), settled.error());
  const auto& terms = *new coll::Terms(std::move(*settled));  // of all communicators of the job; never destroyed
  rt.world =
      make_builtin_comm(MPI_COMM_WORLD, kWorldContext, Ranks::rule(0, rt.device->size()), terms, "MPI_COMM_WORLD");
  rt.self = make_builtin_comm(MPI_COMM_SELF, kSelfContext, {rt.device->rank()}, terms, "MPI_COMM_SELF");
  rt.self->traits = traits;
  if (connect) rt.world_handle = MPI_COMM_WORLD;
  start_reports();
  if (const auto tell = on_device.load(std::memory_order_acquire)) tell();
  if (connect) meet_before_deaths();
  rt.device->trace().leave(call, 0);
  publish_debug_root();
  if (rt.device->config().debug_gate) wait_for_debugger();
}

/// All ranks meet: whether any of them goes on, which a message of one byte says, and one of none that nobody does as
/// far as its sender knows. Each rank that leaves knows that all have come; messages that anyone still had to send went
/// out before.
bool meet(bool go_on) {
  if (runtime().ft) return ft::meet_living(go_on);
  Comm& world = *runtime().world;
  note_collective(world);
  const int tag = next_collective_tag(world);
  char yes = 1, theirs;
  for (int distance = 1; distance < world.size(); distance *= 2) {
    const int to = (world.rank + distance) % world.size();
    const int from = (world.rank - distance + world.size()) % world.size();
    Request* r = start_recv(world, from, tag, {&theirs, 1, find_datatype(MPI_BYTE)});
    const int sent = send(world, to, tag, {&yes, go_on ? 1 : 0, find_datatype(MPI_BYTE)});
    await(*world.device, r);
    const bool they_do = r->status.bytes > 0;
    const int received = wait(*world.device, r);
    if (sent != MPI_SUCCESS || received != MPI_SUCCESS) {
      fail_call(sent != MPI_SUCCESS ? sent : received, "not all ranks have come to MPI_Finalize");
    }
    go_on = go_on || they_do;
  }
  return go_on;
}

void close_for_good() {
  Runtime& rt = runtime();
  meet_parties();
  end_windows();
  if (auto ok = rt.device->MPID_Finalize(); !ok) fail_call(error_class_of(ok.error().code), ok.error().what);
  if (auto ok = rt.bootstrap->finalize(); !ok) fail_call(error_class_of(ok.error().code), ok.error().what);
}

/// The end of a program that has used sessions, if it has left MPI. Others may be in MPI_Finalize meanwhile, and come
/// here as well: so all meet until nobody goes on.
void at_exit() {
  Runtime& rt = runtime();
  if (::getpid() != exits.load(std::memory_order_relaxed) || rt.is_active() ||
      rt.sessions_so_far.load(std::memory_order_acquire) == Sessions::closed)
    return;
  try {
    constexpr Function finalize("MPI_Finalize");  // what it may meet
    adi::Device::Entry entry(*rt.device, finalize, finalize.id, finalize.collective);
    connect_job();
    while (meet(false)) continue;
    rt.sessions_so_far.store(Sessions::closed, std::memory_order_release);
    close_for_good();
  } catch (const Failure& f) {
    std::fprintf(stderr, "rmq: at the end of the program: %s\n", f.what.c_str());
  }
}

}  // namespace

std::mutex& life_mutex() {
  static std::mutex* const one = new std::mutex;  // never destroyed, like the runtime
  return *one;
}

bool join_runtime(int thread_level, std::uint32_t call, bool for_session) {
  Runtime& rt = runtime();
  const bool first = !rt.device;
  if (first) start(thread_level, call, !for_session);
  const auto fail_closed = [] {
    fail_call(
        MPI_ERR_OTHER,
        "MPI has ended for good with MPI_Finalize: a program that wants sessions after it has to open one before");
  };
  if (for_session) {  // perhaps by a thread that may call nothing else, while another one is in the device
    Sessions so_far = Sessions::none;
    if (!rt.sessions_so_far.compare_exchange_strong(so_far, Sessions::used, std::memory_order_acq_rel) &&
        so_far == Sessions::closed)
      fail_closed();
  } else {
    const adi::Device::Entry entry(*rt.device);
    if (rt.sessions_so_far.load(std::memory_order_acquire) == Sessions::closed) fail_closed();
    connect_job();
  }
  // Release pairs with the acquire in is_active().
  rt.state.store(Runtime::State::active, std::memory_order_release);
  return first;
}

void connect_job() {
  Runtime& rt = runtime();
  if (rt.world_handle == MPI_COMM_WORLD) return;
  if (auto ok = rt.device->connect(); !ok) give_up(rt.bootstrap.get(), ok.error());
  meet_before_deaths();
  rt.world_handle = MPI_COMM_WORLD;
}

void leave_runtime() {
  Runtime& rt = runtime();
  const adi::Device::Entry entry(*rt.device);
  bool in_use = rt.world_model.load(std::memory_order_relaxed) == Runtime::State::active;
  rt.sessions.for_each([&](const Session&) { in_use = true; });
  if (!in_use) rt.state.store(Runtime::State::after, std::memory_order_release);
}

Session* hold_runtime() {
  Runtime& rt = runtime();
  auto session = std::make_unique<Session>();
  session->errhandler = &rt.builtin_errhandlers[0];
  retain(*session->errhandler);
  return rt.sessions.add(std::move(session));
}

void let_go_of_runtime(Session* held) {
  release(held->errhandler);
  runtime().sessions.remove(held);
}

void finish_at_exit() {
  if (exits.exchange(::getpid(), std::memory_order_relaxed) == 0) std::atexit(at_exit);
}

int end_world() {
  Runtime& rt = runtime();
  // The program's last word (MPI-4.0, section 11.2.4), while everything still works.
  if (const int code = delete_all_attributes(rt.self->attributes, MPI_COMM_SELF); code != MPI_SUCCESS) return code;
  drain_bsend_buffers();
  Sessions so_far = Sessions::none;
  const bool over =
      runtime().sessions_so_far.compare_exchange_strong(so_far, Sessions::closed, std::memory_order_acq_rel);
  if (meet(!over)) {
    if (over) runtime().sessions_so_far.store(Sessions::none, std::memory_order_release);
    finish_at_exit();
  } else {
    close_for_good();
  }
  return MPI_SUCCESS;
}

}  // namespace rmq::mpi
