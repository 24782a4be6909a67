// Chapter 6: gather and scatter.
#include "mpi/coll/args.hpp"

namespace rmq::mpi {
namespace {

using coll::Blocks;
using coll::Role;
using coll::role_of;

/// `receive()` gives the root's checked blocks.
template <class Receive>
int gather(Comm& c, int root, const void* data, MPI_Count count, MPI_Datatype type, Receive&& receive,
           int (*algorithm)(Comm&, const Buffer&, const Blocks&, int)) {
  const Role role = role_of(c, root_arg(c, root));
  const Buffer send = role.member ? coll::send_arg(data, count, type, role.root) : coll::no_buffer();
  const Blocks recv = role.root ? receive() : coll::no_blocks();
  if (role.member && role.root) coll::refuse_alias(send, recv[c.rank]);
  return algorithm(c, send, recv, root);
}

/// `send()` gives the root's checked blocks.
template <class Send>
int scatter(Comm& c, int root, Send&& send_blocks, void* data, MPI_Count count, MPI_Datatype type,
            int (*algorithm)(Comm&, const Blocks&, const Buffer&, int)) {
  const Role role = role_of(c, root_arg(c, root));
  const Blocks send = role.root ? send_blocks() : coll::no_blocks();
  const Buffer recv = role.member ? coll::recv_arg(data, count, type, role.root) : coll::no_buffer();
  if (role.member && role.root && !coll::is_in_place(recv.data)) coll::refuse_alias(send[c.rank], recv);
  return algorithm(c, send, recv, root);
}

int gather_equal(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf, MPI_Count recvcount,
                 MPI_Datatype recvtype, int root, MPI_Comm comm, const char* function = __builtin_FUNCTION()) {
  return enter(
      comm,
      [&](Comm& c) {
        const auto receive = [&] { return coll::recv_blocks_arg(recvbuf, recvcount, recvtype); };
        return gather(c, root, sendbuf, sendcount, sendtype, receive, coll::gather);
      },
      function);
}

template <class Count, class Displacement>
int gather_each(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf, const Count* recvcounts,
                const Displacement* displs, MPI_Datatype recvtype, int root, MPI_Comm comm,
                const char* function = __builtin_FUNCTION()) {
  return enter(
      comm,
      [&](Comm& c) {
        const auto receive = [&] {
          return coll::spread_arg(recvbuf, recvcounts, displs, recvtype, c.remote_size(), coll::kRootRecvNames);
        };
        return gather(c, root, sendbuf, sendcount, sendtype, receive, coll::gatherv);
      },
      function);
}

int scatter_equal(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf, MPI_Count recvcount,
                  MPI_Datatype recvtype, int root, MPI_Comm comm, const char* function = __builtin_FUNCTION()) {
  return enter(
      comm,
      [&](Comm& c) {
        const auto send = [&] { return coll::send_blocks_arg(sendbuf, sendcount, sendtype); };
        return scatter(c, root, send, recvbuf, recvcount, recvtype, coll::scatter);
      },
      function);
}

template <class Count, class Displacement>
int scatter_each(const void* sendbuf, const Count* sendcounts, const Displacement* displs, MPI_Datatype sendtype,
                 void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm,
                 const char* function = __builtin_FUNCTION()) {
  return enter(
      comm,
      [&](Comm& c) {
        const auto send = [&] {
          return coll::spread_arg(sendbuf, sendcounts, displs, sendtype, c.remote_size(), coll::kRootSendNames);
        };
        return scatter(c, root, send, recvbuf, recvcount, recvtype, coll::scatterv);
      },
      function);
}

}  // namespace

RMQ_MPI(int, Gather,
        (const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount, MPI_Datatype recvtype,
         int root, MPI_Comm comm)) {
  return gather_equal(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm);
}

RMQ_MPI(int, Gather_c,
        (const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf, MPI_Count recvcount,
         MPI_Datatype recvtype, int root, MPI_Comm comm)) {
  return gather_equal(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm);
}

RMQ_MPI(int, Gatherv,
        (const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, const int recvcounts[],
         const int displs[], MPI_Datatype recvtype, int root, MPI_Comm comm)) {
  return gather_each(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, root, comm);
}

RMQ_MPI(int, Gatherv_c,
        (const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf, const MPI_Count recvcounts[],
         const MPI_Aint displs[], MPI_Datatype recvtype, int root, MPI_Comm comm)) {
  return gather_each(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, root, comm);
}

RMQ_MPI(int, Scatter,
        (const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount, MPI_Datatype recvtype,
         int root, MPI_Comm comm)) {
  return scatter_equal(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm);
}

RMQ_MPI(int, Scatter_c,
        (const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf, MPI_Count recvcount,
         MPI_Datatype recvtype, int root, MPI_Comm comm)) {
  return scatter_equal(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm);
}

RMQ_MPI(int, Scatterv,
        (const void* sendbuf, const int sendcounts[], const int displs[], MPI_Datatype sendtype, void* recvbuf,
         int recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm)) {
  return scatter_each(sendbuf, sendcounts, displs, sendtype, recvbuf, recvcount, recvtype, root, comm);
}

RMQ_MPI(int, Scatterv_c,
        (const void* sendbuf, const MPI_Count sendcounts[], const MPI_Aint displs[], MPI_Datatype sendtype,
         void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm)) {
  return scatter_each(sendbuf, sendcounts, displs, sendtype, recvbuf, recvcount, recvtype, root, comm);
}

}  // namespace rmq::mpi
