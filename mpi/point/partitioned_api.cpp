// SPDX-License-Identifier: BSD-3-Clause
// Chapter 4: partitioned communication.
#include <fmt/format.h>

#include "engine/message/partitioned.hpp"
#include "mpi/define.hpp"

namespace rmq::mpi {
namespace {

int partitions_arg(int partitions) {
  if (partitions < 0) {
    fail_call(MPI_ERR_ARG,
              fmt::format("invalid number of partitions {} (argument partitions; must not be negative)", partitions));
  }
  return partitions;
}

template <class Kind>
Kind& partitioned_arg(MPI_Request request, const char* what) {
  Request* r = request_arg(request);
  auto* p = r->kind == RequestKind::other ? dynamic_cast<Kind*>(activity_of(*r)) : nullptr;
  if (!p) {
    const Comm* c = comm_of(*r);
    throw Failure{MPI_ERR_REQUEST, fmt::format("argument request is no partitioned {}", what),
                  c ? c->handle : MPI_COMM_NULL};
  }
  return *p;
}

PartitionedSend& send_arg(MPI_Request request) {
  return partitioned_arg<PartitionedSend>(request, "send");
}

}  // namespace

RMQ_MPI(int, Psend_init,
        (const void* buf, int partitions, MPI_Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
         MPI_Info info, MPI_Request* request)) {
  return enter(comm, [&](Comm& c) {
    const Buffer b = buffer_arg(buf, count, datatype);
    dest_arg(c, dest);
    optional_info_arg(info);
    out(request, "request");
    auto send = std::make_unique<PartitionedSend>(c, b, partitions_arg(partitions), dest, tag_arg(tag));
    PartitionedSend& s = *send;
    *request = new_activity_request(std::move(send));
    s.announce();
  });
}

RMQ_MPI(int, Precv_init,
        (void* buf, int partitions, MPI_Count count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
         MPI_Info info, MPI_Request* request)) {
  return enter(comm, [&](Comm& c) {
    const Buffer b = buffer_arg(buf, count, datatype);
    dest_arg(c, source, "source");  // no wildcards here
    optional_info_arg(info);
    out(request, "request");
    auto recv = std::make_unique<PartitionedRecv>(c, b, partitions_arg(partitions), source, tag_arg(tag));
    PartitionedRecv& r = *recv;
    *request = new_activity_request(std::move(recv));
    r.await_announcement();
  });
}

RMQ_MPI(int, Pready, (int partition, MPI_Request request)) {
  return enter([&] { send_arg(request).ready(partition); });
}

RMQ_MPI(int, Pready_range, (int partition_low, int partition_high, MPI_Request request)) {
  return enter([&] { send_arg(request).ready_range(partition_low, partition_high); });
}

RMQ_MPI(int, Pready_list, (int length, int array_of_partitions[], MPI_Request request)) {
  return enter([&] {
    PartitionedSend& s = send_arg(request);
    count_arg(length, "length");
    if (length > 0) s.ready({out(array_of_partitions, "array_of_partitions"), static_cast<std::size_t>(length)});
  });
}

// The flag is true for a request that is null or inactive, as MPI_Test has it.
RMQ_MPI(int, Parrived, (MPI_Request request, int partition, int* flag)) {
  return enter([&] {
    *out(flag, "flag") = 1;
    if (request == MPI_REQUEST_NULL) return;
    PartitionedRecv& r = partitioned_arg<PartitionedRecv>(request, "receive");
    if (r.arrived(partition)) return;
    runtime().device->MPID_Poll(false, r.awaited());
    *flag = r.arrived(partition);
  });
}

}  // namespace rmq::mpi
