// SPDX-License-Identifier: BSD-3-Clause
// The remote queue buffer's C functions: rmq_queue.h.
#include "rma/queue/queue.hpp"

#include <fmt/format.h>

#include "base/os/clock.hpp"
#include "engine/call/call.hpp"
#include "engine/comm/comms.hpp"
#include "engine/comm/together.hpp"
#include "engine/object/deaths.hpp"
#include "mpi/include/rmq_queue.h"
#include "mpi/win/hub.hpp"

struct rmq_queue_object {
  std::shared_ptr<rmq::rma::Hub> hub;  // outlives the queue
  std::unique_ptr<rmq::rma::Queue> queue;
  rmq::mpi::Comm* comm;  // with a context of its own; held
};

namespace rmq::mpi {
namespace {

rmq_queue_object& queue_arg(::rmq_queue q) {
  if (!q) fail_call(MPI_ERR_ARG, "argument queue is NULL");
  return *q;
}

/// enter() on the communicator of a queue.
template <class Body>
int enter_queue(::rmq_queue q, Body&& body, Function function = __builtin_FUNCTION()) {
  return enter(
      q ? q->comm->handle : MPI_COMM_WORLD, [&](Comm&) { return body(queue_arg(q)); }, function);
}

bool put(rmq_queue_object& q, int target, const void* message) {
  if (target < 0 || target >= q.queue->size()) [[unlikely]]
    detail::bad_rank(*q.comm, target, "target");
  switch (q.queue->try_put(target, out(message, "message"))) {
    case rma::Queue::Put::done:
      return true;
    case rma::Queue::Put::lost:
      fail_call(MPIX_ERR_PROC_FAILED, fmt::format("rank {} of the queue is lost", target));
    case rma::Queue::Put::refused:
      break;
  }
  return false;
}

}  // namespace
}  // namespace rmq::mpi

using namespace rmq;
using namespace rmq::mpi;

extern "C" {

RMQ_EXPORT int rmq_queue_create(MPI_Comm comm, int message_bytes, int capacity, ::rmq_queue* queue) {
  MPI_Comm own = MPI_COMM_NULL;
  if (const int code = PMPI_Comm_dup(comm, &own); code != MPI_SUCCESS) return code;
  const int code = enter(own, [&](Comm& c) {
    *out(queue, "queue") = nullptr;
    if (c.is_inter()) fail_call(MPI_ERR_COMM, "argument comm is an inter-communicator");
    const auto hub = take_hub();  // others may come and go while this call waits
    rma::QueueOptions options;
    options.id = c.context;
    options.ranks = c.group->world;
    options.me = c.rank;
    options.message = message_bytes > 0 ? static_cast<std::uint32_t>(message_bytes) : 0;
    options.capacity = capacity > 0 ? static_cast<std::uint32_t>(capacity) : 0;
    ft::Together members(c);
    Result<std::unique_ptr<rma::Queue>> made = std::unique_ptr<rma::Queue>();
    members.run([&] {
      made = rma::Queue::prepare(*hub, options);
      // All members learn who failed, so that all return.
      const std::uint64_t mine[] = {made ? std::uint64_t{0} : 1,
                                    std::uint64_t{options.message} << 32 | options.capacity,
                                    made ? (*made)->contribution()[0] : 0};
      const auto all = gather_all(whole_party(members.own()), mine);
      std::vector<std::uint64_t> tokens;
      for (std::size_t i = 0; i < all.size(); i += 3) {
        if (all[i] != 0) {
          fail_call(made ? MPI_ERR_OTHER : error_class_of(made.error().code),
                    made ? fmt::format("rank {} could not make its buffer", i / 3) : made.error().what);
        }
        if (all[i + 1] != mine[1]) fail_call(MPI_ERR_ARG, "message_bytes and capacity differ among the ranks");
        tokens.push_back(all[i + 2]);
      }
      (*made)->open(tokens);
    });
    members.conclude([] {});
    *queue = new rmq_queue_object{hub, std::move(*made), &c};
  });
  if (code != MPI_SUCCESS) PMPI_Comm_free(&own);
  return code;
}

RMQ_EXPORT int rmq_queue_free(::rmq_queue* queue) {
  if (!queue || !*queue) return enter_queue(nullptr, [](rmq_queue_object&) {});
  ::rmq_queue q = *queue;
  MPI_Comm own = q->comm->handle;
  if (const int code = ft::may_fail() ? MPI_SUCCESS : PMPI_Barrier(own); code != MPI_SUCCESS) return code;
  const int code = enter_queue(q, [&](rmq_queue_object&) {
    if (ft::may_fail()) ft::meet_living(*q->comm);  // without those that have died
    delete q;
    *queue = nullptr;
  });
  return code != MPI_SUCCESS ? code : PMPI_Comm_free(&own);
}

RMQ_EXPORT int rmq_queue_try_put(::rmq_queue queue, int target, const void* message, int* done) {
  return enter_queue(queue, [&](rmq_queue_object& q) {
    *out(done, "done") = put(q, target, message) ? 1 : 0;
    if (!*done) runtime().device->MPID_Poll(false);  // what returns credit comes in by polls
  });
}

RMQ_EXPORT int rmq_queue_put(::rmq_queue queue, int target, const void* message, double seconds, int* done) {
  return enter_queue(queue, [&](rmq_queue_object& q) {
    adi::Device& device = *runtime().device;
    const std::uint64_t start = os::now_ns();
    while (!(*out(done, "done") = put(q, target, message) ? 1 : 0)) {
      if (seconds >= 0 && static_cast<double>(os::now_ns() - start) * 1e-9 >= seconds) return;
      device.MPID_Poll(false);  // gives the core away where ranks share it
    }
  });
}

RMQ_EXPORT int rmq_queue_most(::rmq_queue queue, int* messages) {
  return enter_queue(queue,
                     [&](rmq_queue_object& q) { *out(messages, "messages") = static_cast<int>(q.queue->most()); });
}

RMQ_EXPORT int rmq_queue_get(::rmq_queue queue, void* messages, int* count) {
  return enter_queue(queue, [&](rmq_queue_object& q) {
    runtime().device->MPID_Poll(false);
    *out(count, "count") = static_cast<int>(q.queue->get(static_cast<std::byte*>(out(messages, "messages"))));
  });
}

RMQ_EXPORT int rmq_queue_lock(::rmq_queue queue) {
  return enter_queue(queue, [&](rmq_queue_object& q) { q.queue->lock(); });
}
RMQ_EXPORT int rmq_queue_unlock(::rmq_queue queue) {
  return enter_queue(queue, [&](rmq_queue_object& q) { q.queue->unlock(); });
}

RMQ_EXPORT int rmq_queue_get_counters(::rmq_queue queue, rmq_queue_counters* counters) {
  return enter_queue(queue, [&](rmq_queue_object& q) {
    const rma::QueueCounters& c = q.queue->counters();
    *out(counters, "counters") = {c.puts, c.refused, c.taken, c.rounds, c.lost};
  });
}

}  // extern "C"
