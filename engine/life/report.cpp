// SPDX-License-Identifier: BSD-3-Clause
// What MPI adds to a rank's report (adi/reporting.cpp): communicators, and the latest collectives of each. And the
// signal by which the launcher asks a rank that is not in MPI.
#include "engine/life/report.hpp"

#include <pthread.h>

#include <cerrno>
#include <csignal>

#include "engine/comm/topology.hpp"
#include "engine/message/requests.hpp"
#include "engine/object/runtime.hpp"

namespace rmq::mpi {
namespace {

template <class Ranks>
void tell_ranks(const char* name, const Ranks& ranks, ReportText& to) {
  to.begin_list(name);
  for (const Rank r : ranks) {
    if (!to.has_room()) break;
    to.entry(r);
  }
  to.end_list();
}

void tell_comm(const Comm& c, ReportText& to) {
  if (!to.has_room()) return;
  to.begin_object();
  to.field("context", c.context);
  to.field("recv_context", c.recv_context);
  to.field("name", c.name);
  to.field("rank", c.rank);
  to.field("size", c.size());
  // Ranks of MPI_COMM_WORLD are what the world calls them.
  if (&c != runtime().world) tell_ranks("members", (c.remote ? c.remote : c.group)->world, to);
  if (c.is_inter()) {
    tell_ranks("local", c.group->world, to);
    to.field("remote_size", c.remote_size());
    to.field("local_context", c.local->context);
  }
  if (c.topology && !std::holds_alternative<Cart>(c.topology->shape)) {  // a grid's neighbours always fit together
    tell_ranks("sources", c.topology->neighbours.sources, to);
    tell_ranks("destinations", c.topology->neighbours.destinations, to);
  }
  to.field("collectives", c.calls);
  to.begin_list("called");
  const auto kept = static_cast<std::uint32_t>(c.called.size());
  for (std::uint32_t n = c.calls > kept ? c.calls - kept : 0; n < c.calls; ++n) {
    const CollectiveCall& call = c.called[n % kept];
    to.begin_object();
    to.field("number", n + 1);
    to.field("call", call.function);
    to.field("bytes", call.bytes);
    to.field("root", call.root);
    to.end_object();
  }
  to.end_list();
  to.end_object();
}

// Requests that others may wait for, but not this rank: persistent ones that are not started, partitions not ready.
void tell_dormant(ReportText& to) {
  to.begin_list("dormant");
  for (const Comm* c = Comm::newest; c; c = c->older) {
    for (const Activity* a = c->activities; a; a = a->older()) {
      if (!a->awaits_program()) continue;
      if (!to.has_room()) break;
      to.begin_object();
      to.field("started", a->active());
      to.begin_list("request");
      a->tell(to);
      to.end_list();
      to.end_object();
    }
  }
  to.end_list();
}

void tell_comms(ReportText& to) {
  const Runtime& rt = runtime();
  to.begin_list("comms");
  if (rt.world) tell_comm(*rt.world, to);
  if (rt.self) tell_comm(*rt.self, to);
  rt.comms.for_each([&](const Comm& c) { tell_comm(c, to); });
  rt.windows.for_each([&](const Win& w) { tell_comm(*w.comm, to); });
  to.end_list();
}

void on_signal(int) {
  const int saved = errno;
  if (Runtime& rt = runtime(); rt.is_active()) {
    // Below MPI_THREAD_SERIALIZED only the main thread is ever in MPI, so it can tell whether it is there now.
    const bool main_calls = rt.thread_level <= MPI_THREAD_FUNNELED;
    if (main_calls && pthread_equal(pthread_self(), rt.main_thread) == 0) {
      ::pthread_kill(rt.main_thread, SIGURG);
    } else {
      rt.device->on_interrupt(main_calls);
    }
  }
  errno = saved;
}

}  // namespace

void start_reports() {
  runtime().device->add_to_reports([](ReportText& to) {
    to.share(4);
    tell_dormant(to);
    to.share(1);
    tell_comms(to);
  });
  // Without a handler this signal does nothing. A program that has one of its own keeps it.
  struct sigaction action {};
  if (::sigaction(SIGURG, nullptr, &action) != 0 || action.sa_handler != SIG_DFL) return;
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  ::sigaction(SIGURG, &action, nullptr);
}

}  // namespace rmq::mpi
