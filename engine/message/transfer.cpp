// SPDX-License-Identifier: BSD-3-Clause
#include "engine/message/transfer.hpp"

#include "engine/call/function.hpp"
#include "engine/message/p2p.hpp"
#include "engine/message/task.hpp"
#include "engine/object/failure.hpp"

namespace rmq::mpi {
namespace {

// Collectives and agreements of communicator making (engine/comm/agree.cpp) share a context; the latter use tags from
// here on.
constexpr std::uint32_t kCollectiveTags = 1u << 29;
static_assert(kRepeatedTags == 3 * kCollectiveTags);

Request* new_recv(Comm& comm, int from, int tag, const Buffer& data) {
  Request* r = comm.device->MPID_Request_create(RequestKind::recv);
  prepare_recv(r, comm, data, from, tag, kCollective);
  return r;
}

}  // namespace

int next_collective_tag(Comm& comm) {
  if (const Task* const task = Task::current(); task && task->fixed_tag() >= 0) [[unlikely]]
    return task->fixed_tag();
  // Different collectives do not take each other's messages: a program that mixes them up hangs, and is told why
  // (design/diagnosis.md), instead of going on with wrong data.
  const std::uint32_t number = comm.collective_number++ % (kCollectiveTags / kCollectiveKinds);
  return static_cast<int>(number * kCollectiveKinds + collective_kind(comm));
}

int new_repeated_tag(Comm& comm) {
  return static_cast<int>(kRepeatedTags + comm.repeated_number++ % kCollectiveTags);
}

Request* start_send(Comm& comm, int to, int tag, const Buffer& data) {
  adi::Device& device = *comm.device;
  Request* r = device.MPID_Request_create(RequestKind::send);
  prepare_send(r, comm, data, to, tag, SendMode::standard, kCollective);
  device.MPID_Isend(r);
  return r;
}

Request* start_recv(Comm& comm, int from, int tag, const Buffer& data) {
  Request* r = new_recv(comm, from, tag, data);
  comm.device->MPID_Irecv(r);
  return r;
}

Request* start_recv_join(Comm& comm, int from, int tag, const Buffer& data, ReduceOp op, int parts) {
  Request* r = new_recv(comm, from, tag, data);
  r->dest_op = DestOp::join;
  r->join_op = op;
  r->join_type = data.type->basic;
  r->parts = static_cast<std::uint32_t>(parts);
  if (from == MPI_ANY_SOURCE) {
    r->flags |= request_flag::grouped;
    r->group = &(comm.remote ? comm.remote : comm.group)->world;
  }
  comm.device->MPID_Irecv(r);
  return r;
}

int wait(adi::Device& device, Request* r) {
  await(device, r);
  const Errc error = r->status.error;
  device.MPID_Request_free(r);
  return error_class_of(error);
}

int send(Comm& comm, int to, int tag, const Buffer& data) {
  if (data.type->dense) {
    const DataView view = view_of(*data.type, data.data, data.count);
    if (comm.device->send_now(comm.world_of(to), send_match(comm, tag, kCollective), view.base, view.bytes)) {
      return MPI_SUCCESS;
    }
  }
  return wait(*comm.device, start_send(comm, to, tag, data));
}

int recv(Comm& comm, int from, int tag, const Buffer& data) {
  return wait(*comm.device, start_recv(comm, from, tag, data));
}

int send_recv(Comm& comm, int to, const Buffer& out, int from, const Buffer& in, int tag) {
  Request* r = start_recv(comm, from, tag, in);
  const int sent = send(comm, to, tag, out);
  const int received = wait(*comm.device, r);
  return sent != MPI_SUCCESS ? sent : received;
}

}  // namespace rmq::mpi
