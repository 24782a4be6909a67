// SPDX-License-Identifier: BSD-3-Clause
// The C functions of active messages: rmq_am.h.
#include "rma/am/active_messages.hpp"

#include <fmt/format.h>

#include "engine/call/call.hpp"
#include "engine/comm/comms.hpp"
#include "engine/comm/together.hpp"
#include "engine/object/deaths.hpp"
#include "engine/window/windows.hpp"
#include "mpi/include/rmq_am.h"
#include "mpi/win/hub.hpp"

struct rmq_am_object {
  std::shared_ptr<rmq::rma::Hub> hub;  // outlives the set
  /// What the program has bound to an index.
  struct Function {
    ::rmq_am_handler run;
    void* context;
    rmq_am_object* of;
  };
  std::unique_ptr<rmq::rma::ActiveMessages> set;
  rmq::mpi::Comm* comm;  // with a context of its own; held
  bool has_agent;
  Function functions[rmq::rma::ActiveMessages::kHandlers];
};

static_assert(RMQ_AM_HANDLERS == rmq::rma::ActiveMessages::kHandlers);
static_assert(RMQ_AM_ARGS_MOST == rmq::rma::ActiveMessages::kArgsMost);
static_assert(RMQ_AM_DATA_MOST == rmq::rma::ActiveMessages::kDataMost);

namespace rmq::mpi {
namespace {

/// enter() on the communicator of a set.
template <class Body>
int enter_set(::rmq_am am, Body&& body, Function function = __builtin_FUNCTION()) {
  return enter(
      am ? am->comm->handle : MPI_COMM_WORLD,
      [&](Comm&) {
        if (!am) fail_call(MPI_ERR_ARG, "argument am is NULL");
        return body(*am);
      },
      function);
}

void run_function(rma::Arrival& arrival, void* context) {
  const auto& f = *static_cast<const rmq_am_object::Function*>(context);
  ::rmq_am_message message{f.of,
                           arrival.source,
                           arrival.handler,
                           arrival.may_reply ? 1 : 0,
                           static_cast<int>(arrival.args.size()),
                           arrival.args.data(),
                           arrival.data.data(),
                           arrival.data.size(),
                           &arrival};
  f.run(&message, f.context);
}

void bind(rmq_am_object& am, int index, ::rmq_am_handler run, void* context) {
  am.functions[index] = {run, context, &am};
  am.set->set_handler(index, run ? run_function : nullptr, &am.functions[index]);
}

struct Wrong {
  int code;
  std::string what;
};

/// What is wrong with a message, or MPI_SUCCESS.
Wrong check(int handler, const void* args, int args_bytes, const void* data, std::size_t bytes) {
  if (handler < 0 || handler >= RMQ_AM_HANDLERS)
    return {MPI_ERR_ARG, fmt::format("argument handler is {}: handlers are 0 to {}", handler, RMQ_AM_HANDLERS - 1)};
  if (args_bytes < 0 || args_bytes > RMQ_AM_ARGS_MOST || (!args && args_bytes > 0))
    return {MPI_ERR_ARG, fmt::format("{} bytes of arguments{}: at most {}", args_bytes,
                                     args || args_bytes == 0 ? "" : " at NULL", RMQ_AM_ARGS_MOST)};
  if (!data && bytes > 0) return {MPI_ERR_ARG, "argument data is NULL"};
  return {MPI_SUCCESS, {}};
}

Wrong check_medium(std::size_t bytes) {
  if (bytes <= RMQ_AM_DATA_MOST) return {MPI_SUCCESS, {}};
  return {MPI_ERR_ARG,
          fmt::format("{} bytes of data for no place: at most {}, or a long message", bytes, RMQ_AM_DATA_MOST)};
}

Wrong check_place(const rmq_am_object& am, int target, const void* place, std::size_t bytes) {
  const auto at = reinterpret_cast<std::uintptr_t>(place);
  const rma::ActiveMessages::Attached& there = am.set->attached(target);
  if ((at != 0 || bytes == 0) && there.holds(at, bytes)) return {MPI_SUCCESS, {}};
  return {MPI_ERR_RMA_RANGE, fmt::format("{} bytes at {:#x} are not in the {} bytes at {:#x} that rank {} has attached",
                                         bytes, at, there.bytes, there.base, target)};
}

void expect(const Wrong& wrong) {
  if (wrong.code != MPI_SUCCESS) [[unlikely]]
    fail_call(wrong.code, wrong.what);
}

void check_target(const rmq_am_object& am, int target) {
  if (target < 0 || target >= am.set->size()) [[unlikely]]
    detail::bad_rank(*am.comm, target, "target");
}

/// To oneself: what others' messages are dropped for.
Wrong check_own(const rmq_am_object& am, int target, int handler) {
  if (target != am.comm->rank || am.functions[handler].run) return {MPI_SUCCESS, {}};
  return {MPI_ERR_ARG, fmt::format("handler {} is not set", handler)};
}

rma::ActiveMessage message_of(int handler, const void* args, int args_bytes, const void* data, std::size_t bytes,
                              const void* place = nullptr) {
  return {handler,
          {static_cast<const std::byte*>(args), static_cast<std::size_t>(args_bytes)},
          {static_cast<const std::byte*>(data), bytes},
          reinterpret_cast<std::uintptr_t>(place)};
}

void sent(rma::ActiveMessages::Sent outcome, const char* what) {
  if (outcome == rma::ActiveMessages::Sent::lost) [[unlikely]]
    fail_call(MPIX_ERR_PROC_FAILED, what);
}

/// `am` is not NULL, and the device is held.
int reply(::rmq_am_message* message, const rma::ActiveMessage& m, const Wrong& wrong) {
  auto& arrival = *static_cast<rma::Arrival*>(message->internal);
  if (wrong.code != MPI_SUCCESS) return wrong.code;
  if (!arrival.may_reply) return MPI_ERR_OTHER;
  message->may_reply = 0;
  arrival.set.reply(arrival, m);
  return MPI_SUCCESS;
}

}  // namespace
}  // namespace rmq::mpi

using namespace rmq;
using namespace rmq::mpi;

extern "C" {

RMQ_EXPORT int rmq_am_create(MPI_Comm comm, int flags, int count, const ::rmq_am_handler* handlers, void* context,
                             ::rmq_am* am) {
  MPI_Comm own = MPI_COMM_NULL;
  if (const int code = PMPI_Comm_dup(comm, &own); code != MPI_SUCCESS) return code;
  const int code = enter(own, [&](Comm& c) {
    *out(am, "am") = nullptr;
    if (c.is_inter()) fail_call(MPI_ERR_COMM, "argument comm is an inter-communicator");
    if (count < 0 || count > RMQ_AM_HANDLERS || (count > 0 && !handlers))
      fail_call(MPI_ERR_ARG, fmt::format("{} handlers{}: there can be 0 to {}", count,
                                         count > 0 && !handlers ? " at NULL" : "", RMQ_AM_HANDLERS));
    if ((flags & ~RMQ_AM_AGENT) != 0) fail_call(MPI_ERR_ARG, fmt::format("argument flags is {:#x}", flags));
    const bool agent = (flags & RMQ_AM_AGENT) != 0 && c.group->world.size() > 1;
    auto made = std::make_unique<rmq_am_object>();
    made->hub = take_hub();  // others may come and go while this call waits
    made->comm = &c;
    ft::Together members(c);
    members.run([&] {
      made->set = std::make_unique<rma::ActiveMessages>(*made->hub, c.context, c.group->world, c.rank);
      for (int i = 0; i < count; ++i) bind(*made, i, handlers[i], context);
      // All have theirs when any goes on.
      const std::uint64_t mine[] = {static_cast<std::uint64_t>(static_cast<unsigned>(flags))};
      for (const std::uint64_t others : gather_all(whole_party(members.own()), mine))
        if (others != mine[0]) fail_call(MPI_ERR_ARG, "argument flags differs among the ranks");
    });
    if (!members.is_well()) made.reset();
    members.conclude([&] { made.reset(); });
    made->has_agent = agent;
    if (agent) shared_domain().need_agent(true);
    *am = made.release();
  });
  if (code != MPI_SUCCESS) PMPI_Comm_free(&own);
  return code;
}

RMQ_EXPORT int rmq_am_free(::rmq_am* am) {
  if (!am || !*am) return enter_set(nullptr, [](rmq_am_object&) {});
  ::rmq_am a = *am;
  MPI_Comm own = a->comm->handle;
  int code = enter_set(a, [&](rmq_am_object& o) {
    const auto outcome = o.set->flush_all();
    if (!ft::may_fail()) sent(outcome, "a rank of the set is lost");
  });
  if (code != MPI_SUCCESS) return code;
  if (code = ft::may_fail() ? MPI_SUCCESS : PMPI_Barrier(own); code != MPI_SUCCESS) return code;
  code = enter_set(a, [&](rmq_am_object& o) {
    if (ft::may_fail()) {
      ft::meet_living(*o.comm);  // without those that have died
      o.set->hear_of_deaths();
    }
    if (o.has_agent) runtime().domain->need_agent(false);
    delete a;
    *am = nullptr;
  });
  return code != MPI_SUCCESS ? code : PMPI_Comm_free(&own);
}

RMQ_EXPORT int rmq_am_set_handler(::rmq_am am, int handler, ::rmq_am_handler function, void* context) {
  return enter_set(am, [&](rmq_am_object& o) {
    expect(check(handler, nullptr, 0, nullptr, 0));
    bind(o, handler, function, context);
  });
}

RMQ_EXPORT int rmq_am_attach(::rmq_am am, void* base, size_t bytes) {
  return enter_set(am, [&](rmq_am_object& o) {
    if (!base && bytes > 0 && bytes != SIZE_MAX) fail_call(MPI_ERR_ARG, "argument base is NULL");
    if (bytes > UINTPTR_MAX - reinterpret_cast<std::uintptr_t>(base))
      fail_call(MPI_ERR_ARG, fmt::format("{} bytes from there are more than there is memory", bytes));
    const std::uint64_t mine[] = {reinterpret_cast<std::uintptr_t>(base), bytes};
    const std::vector<std::uint64_t> words = gather_all(whole_party(*o.comm), mine);
    std::vector<rma::ActiveMessages::Attached> all(words.size() / 2);
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = {words[2 * i], words[2 * i + 1]};
    o.set->attach(std::move(all));
    // Nobody sends before all know.
    std::uint64_t none = 0;
    and_all(whole_party(*o.comm), {&none, 1});
  });
}

RMQ_EXPORT int rmq_am_attached(::rmq_am am, int rank, void** base, size_t* bytes) {
  return enter_set(am, [&](rmq_am_object& o) {
    check_target(o, rank);
    const auto& there = o.set->attached(rank);
    *out(base, "base") = reinterpret_cast<void*>(there.base);
    *out(bytes, "bytes") = there.bytes;
  });
}

RMQ_EXPORT int rmq_am_request(::rmq_am am, int target, int handler, const void* args, int args_bytes, const void* data,
                              size_t bytes) {
  return enter_set(am, [&](rmq_am_object& o) {
    check_target(o, target);
    expect(check(handler, args, args_bytes, data, bytes));
    expect(check_medium(bytes));
    expect(check_own(o, target, handler));
    sent(o.set->request(target, message_of(handler, args, args_bytes, data, bytes)), "the target is lost");
  });
}

RMQ_EXPORT int rmq_am_request_long(::rmq_am am, int target, int handler, const void* args, int args_bytes,
                                   const void* data, size_t bytes, void* place) {
  return enter_set(am, [&](rmq_am_object& o) {
    check_target(o, target);
    expect(check(handler, args, args_bytes, data, bytes));
    expect(check_place(o, target, place, bytes));
    expect(check_own(o, target, handler));
    sent(o.set->request(target, message_of(handler, args, args_bytes, data, bytes, place)), "the target is lost");
  });
}

RMQ_EXPORT int rmq_am_reply(::rmq_am_message* message, int handler, const void* args, int args_bytes, const void* data,
                            size_t bytes) {
  Wrong wrong = check(handler, args, args_bytes, data, bytes);
  if (wrong.code == MPI_SUCCESS) wrong = check_medium(bytes);
  if (wrong.code == MPI_SUCCESS) wrong = check_own(*message->am, message->source, handler);
  return reply(message, message_of(handler, args, args_bytes, data, bytes), wrong);
}

RMQ_EXPORT int rmq_am_reply_long(::rmq_am_message* message, int handler, const void* args, int args_bytes,
                                 const void* data, size_t bytes, void* place) {
  Wrong wrong = check(handler, args, args_bytes, data, bytes);
  if (wrong.code == MPI_SUCCESS) wrong = check_place(*message->am, message->source, place, bytes);
  if (wrong.code == MPI_SUCCESS) wrong = check_own(*message->am, message->source, handler);
  return reply(message, message_of(handler, args, args_bytes, data, bytes, place), wrong);
}

RMQ_EXPORT int rmq_am_poll(::rmq_am am) {
  return enter_set(am, [&](rmq_am_object&) { runtime().device->MPID_Poll(false); });
}

RMQ_EXPORT int rmq_am_wait(::rmq_am am, unsigned long long* handled) {
  return enter_set(am, [&](rmq_am_object& o) {
    const auto outcome = o.set->wait(*out(handled, "handled"));
    *handled = o.set->counters().handled;
    sent(outcome, "no message has come, and a rank of the set is lost");
  });
}

RMQ_EXPORT int rmq_am_flush(::rmq_am am, int target) {
  return enter_set(am, [&](rmq_am_object& o) {
    check_target(o, target);
    sent(o.set->flush(target), "the target is lost");
  });
}

RMQ_EXPORT int rmq_am_flush_all(::rmq_am am) {
  return enter_set(am, [&](rmq_am_object& o) { sent(o.set->flush_all(), "a rank of the set is lost"); });
}

RMQ_EXPORT int rmq_am_get_counters(::rmq_am am, rmq_am_counters* counters) {
  return enter_set(am, [&](rmq_am_object& o) {
    const auto& c = o.set->counters();
    *out(counters, "counters") = {c.requests, c.replies, c.handled};
  });
}

}  // extern "C"
