// SPDX-License-Identifier: BSD-3-Clause
// Chapter 6: gather and scatter.
#include "mpi/coll/define.hpp"

namespace rmq::mpi {
namespace {

using coll::Blocks;
using coll::Role;
using coll::role_of;

/// `receive()` gives the root's checked blocks; there are `equal` of the size of a member's own.
template <class Run, class Receive>
int gather(const Run& run, Comm& c, int root, const void* data, MPI_Count count, MPI_Datatype type, int equal,
           Receive&& receive, int (*algorithm)(Comm&, const Buffer&, const Blocks&, int)) {
  const Role role = role_of(c, root_arg(c, root));
  const Buffer send = role.member ? coll::send_arg(data, count, type, role.root) : coll::no_buffer();
  coll::blocks_bytes_arg(*send.type, send.count, equal, "sendcount");
  const Blocks recv = role.root ? receive() : coll::no_blocks();
  if (role.member && role.root) coll::refuse_alias(send, recv[c.rank]);
  return run(c, algorithm, send, recv, root);
}

/// `send()` gives the root's checked blocks; there are `equal` of the size of a member's own.
template <class Run, class Send>
int scatter(const Run& run, Comm& c, int root, Send&& send_blocks, void* data, MPI_Count count, MPI_Datatype type,
            int equal, int (*algorithm)(Comm&, const Blocks&, const Buffer&, int)) {
  const Role role = role_of(c, root_arg(c, root));
  const Blocks send = role.root ? send_blocks() : coll::no_blocks();
  const Buffer recv = role.member ? coll::recv_arg(data, count, type, role.root) : coll::no_buffer();
  coll::blocks_bytes_arg(*recv.type, recv.count, equal, "recvcount");
  if (role.member && role.root && !coll::is_in_place(recv.data)) coll::refuse_alias(send[c.rank], recv);
  return run(c, algorithm, send, recv, root);
}

template <class Run>
int gather_equal(const Run& run, const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                 MPI_Count recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm,
                 Function function = __builtin_FUNCTION()) {
  return enter(
      comm,
      [&](Comm& c) {
        const auto receive = [&] { return coll::recv_blocks_arg(recvbuf, recvcount, recvtype, c.remote_size()); };
        return gather(run, c, root, sendbuf, sendcount, sendtype, c.size(), receive, coll::gather);
      },
      function);
}

template <class Run, class Count, class Displacement>
int gather_each(const Run& run, const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                const Count* recvcounts, const Displacement* displs, MPI_Datatype recvtype, int root, MPI_Comm comm,
                Function function = __builtin_FUNCTION()) {
  return enter(
      comm,
      [&](Comm& c) {
        const auto receive = [&] {
          return coll::spread_arg(recvbuf, recvcounts, displs, recvtype, c.remote_size(), coll::kRootRecvNames);
        };
        return gather(run, c, root, sendbuf, sendcount, sendtype, 1, receive, coll::gatherv);
      },
      function);
}

template <class Run>
int scatter_equal(const Run& run, const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                  MPI_Count recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm,
                  Function function = __builtin_FUNCTION()) {
  return enter(
      comm,
      [&](Comm& c) {
        const auto send = [&] { return coll::send_blocks_arg(sendbuf, sendcount, sendtype, c.remote_size()); };
        return scatter(run, c, root, send, recvbuf, recvcount, recvtype, c.size(), coll::scatter);
      },
      function);
}

template <class Run, class Count, class Displacement>
int scatter_each(const Run& run, const void* sendbuf, const Count* sendcounts, const Displacement* displs,
                 MPI_Datatype sendtype, void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, int root,
                 MPI_Comm comm, Function function = __builtin_FUNCTION()) {
  return enter(
      comm,
      [&](Comm& c) {
        const auto send = [&] {
          return coll::spread_arg(sendbuf, sendcounts, displs, sendtype, c.remote_size(), coll::kRootSendNames);
        };
        return scatter(run, c, root, send, recvbuf, recvcount, recvtype, 1, coll::scatterv);
      },
      function);
}

}  // namespace

RMQ_COLLECTIVE(Gather, gather, ,
               (const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount,
                MPI_Datatype recvtype, int root, MPI_Comm comm),
               gather_equal(run, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm))

RMQ_COLLECTIVE(Gather, gather, _c,
               (const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf, MPI_Count recvcount,
                MPI_Datatype recvtype, int root, MPI_Comm comm),
               gather_equal(run, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm))

RMQ_COLLECTIVE(Gatherv, gatherv, ,
               (const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, const int recvcounts[],
                const int displs[], MPI_Datatype recvtype, int root, MPI_Comm comm),
               gather_each(run, sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, root, comm))

RMQ_COLLECTIVE(Gatherv, gatherv, _c,
               (const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                const MPI_Count recvcounts[], const MPI_Aint displs[], MPI_Datatype recvtype, int root, MPI_Comm comm),
               gather_each(run, sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, root, comm))

RMQ_COLLECTIVE(Scatter, scatter, ,
               (const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount,
                MPI_Datatype recvtype, int root, MPI_Comm comm),
               scatter_equal(run, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm))

RMQ_COLLECTIVE(Scatter, scatter, _c,
               (const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf, MPI_Count recvcount,
                MPI_Datatype recvtype, int root, MPI_Comm comm),
               scatter_equal(run, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm))

RMQ_COLLECTIVE(Scatterv, scatterv, ,
               (const void* sendbuf, const int sendcounts[], const int displs[], MPI_Datatype sendtype, void* recvbuf,
                int recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm),
               scatter_each(run, sendbuf, sendcounts, displs, sendtype, recvbuf, recvcount, recvtype, root, comm))

RMQ_COLLECTIVE(Scatterv, scatterv, _c,
               (const void* sendbuf, const MPI_Count sendcounts[], const MPI_Aint displs[], MPI_Datatype sendtype,
                void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm),
               scatter_each(run, sendbuf, sendcounts, displs, sendtype, recvbuf, recvcount, recvtype, root, comm))

}  // namespace rmq::mpi
