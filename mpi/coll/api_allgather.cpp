// SPDX-License-Identifier: BSD-3-Clause
// Chapter 6: allgather and the all-to-all exchanges.
#include <vector>

#include "mpi/coll/define.hpp"

namespace rmq::mpi {
namespace {

using coll::Blocks;

template <class Run>
int allgather(const Run& run, Comm& c, const void* data, MPI_Count count, MPI_Datatype type, const Blocks& recv) {
  const Buffer send = coll::send_arg(data, count, type, !c.is_inter());
  if (!c.is_inter()) coll::refuse_alias(send, recv[c.rank]);
  return run(c, coll::allgather, send, recv);
}

template <class Run>
int allgather_equal(const Run& run, const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                    MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm,
                    Function function = __builtin_FUNCTION()) {
  return enter(
      comm,
      [&](Comm& c) {
        return allgather(run, c, sendbuf, sendcount, sendtype,
                         coll::recv_blocks_arg(recvbuf, recvcount, recvtype, c.remote_size()));
      },
      function);
}

template <class Run, class Count, class Displacement>
int allgather_each(const Run& run, const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                   const Count* recvcounts, const Displacement* displs, MPI_Datatype recvtype, MPI_Comm comm,
                   Function function = __builtin_FUNCTION()) {
  return enter(
      comm,
      [&](Comm& c) {
        const Blocks recv =
            coll::spread_arg(recvbuf, recvcounts, displs, recvtype, c.remote_size(), coll::kRootRecvNames);
        return allgather(run, c, sendbuf, sendcount, sendtype, recv);
      },
      function);
}

/// What is sent in place: what is received. Not in an inter-communicator.
Blocks in_place(const Comm& c) {
  if (c.is_inter()) fail_call(MPI_ERR_BUFFER, "argument sendbuf must not be MPI_IN_PLACE");
  return Blocks::uniform(MPI_IN_PLACE, 0, coll::byte_type());  // NOLINT(performance-no-int-to-ptr): the ABI's number
}

/// Only the first block is looked at: where send and receive buffers are the same, it is as well.
template <class Run>
int exchange(const Run& run, Comm& c, const Blocks& send, const Blocks& recv) {
  if (!send.in_place()) coll::refuse_alias(send[0], recv[0]);
  return run(c, coll::alltoall, send, recv);
}

template <class Run>
int alltoall_equal(const Run& run, const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                   MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm,
                   Function function = __builtin_FUNCTION()) {
  return enter(
      comm,
      [&](Comm& c) {
        const Blocks recv = coll::recv_blocks_arg(recvbuf, recvcount, recvtype, c.remote_size());
        return exchange(run, c,
                        coll::is_in_place(sendbuf)
                            ? in_place(c)
                            : coll::send_blocks_arg(sendbuf, sendcount, sendtype, c.remote_size()),
                        recv);
      },
      function);
}

template <class Run, class Count, class Displacement>
int alltoall_each(const Run& run, const void* sendbuf, const Count* sendcounts, const Displacement* sdispls,
                  MPI_Datatype sendtype, void* recvbuf, const Count* recvcounts, const Displacement* rdispls,
                  MPI_Datatype recvtype, MPI_Comm comm, Function function = __builtin_FUNCTION()) {
  return enter(
      comm,
      [&](Comm& c) {
        const int n = c.remote_size();
        const Blocks recv = coll::spread_arg(recvbuf, recvcounts, rdispls, recvtype, n, coll::kRecvNames);
        const Blocks send = coll::is_in_place(sendbuf)
                                ? in_place(c)
                                : coll::spread_arg(sendbuf, sendcounts, sdispls, sendtype, n, coll::kSendNames);
        return exchange(run, c, send, recv);
      },
      function);
}

/// One side of an Alltoallw; fills `types`.
template <class Count, class Displacement>
Blocks typed_arg(const void* data, const Count* counts, const Displacement* displacements, const MPI_Datatype* handles,
                 int ranks, const coll::SideNames& names, std::vector<const Datatype*>& types) {
  const MPI_Count total = coll::counts_arg(coll::Numbers(counts), !counts, ranks, names.counts);
  if (!displacements && total > 0) detail::null_argument(MPI_ERR_ARG, names.displacements);
  if (!handles) detail::null_argument(MPI_ERR_ARG, names.type);
  if (total > 0 && coll::is_in_place(data)) coll::refuse_in_place(names.data);
  const coll::Numbers numbers(counts);
  types = coll::types_arg(numbers, handles, ranks, names, [](int) { return true; });
  return Blocks::typed(data, numbers, total > 0 ? coll::Numbers(displacements) : coll::Numbers(0, 0), types.data());
}

template <class Run, class Count, class Displacement>
int alltoall_typed(const Run& run, const void* sendbuf, const Count* sendcounts, const Displacement* sdispls,
                   const MPI_Datatype* sendtypes, void* recvbuf, const Count* recvcounts, const Displacement* rdispls,
                   const MPI_Datatype* recvtypes, MPI_Comm comm, Function function = __builtin_FUNCTION()) {
  constexpr coll::SideNames kSend{"sendbuf", "sendcounts", "sdispls", "sendtypes"};
  constexpr coll::SideNames kRecv{"recvbuf", "recvcounts", "rdispls", "recvtypes"};
  return enter(
      comm,
      [&](Comm& c) {
        const int n = c.remote_size();
        std::vector<const Datatype*> in, out;
        const Blocks recv = typed_arg(recvbuf, recvcounts, rdispls, recvtypes, n, kRecv, in);
        const Blocks send = coll::is_in_place(sendbuf)
                                ? in_place(c)
                                : typed_arg(sendbuf, sendcounts, sdispls, sendtypes, n, kSend, out);
        return exchange(run, c, send, recv);
      },
      function);
}

}  // namespace

RMQ_COLLECTIVE(Allgather, allgather, ,
               (const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount,
                MPI_Datatype recvtype, MPI_Comm comm),
               allgather_equal(run, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm))

RMQ_COLLECTIVE(Allgather, allgather, _c,
               (const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf, MPI_Count recvcount,
                MPI_Datatype recvtype, MPI_Comm comm),
               allgather_equal(run, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm))

RMQ_COLLECTIVE(Allgatherv, allgatherv, ,
               (const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, const int recvcounts[],
                const int displs[], MPI_Datatype recvtype, MPI_Comm comm),
               allgather_each(run, sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, comm))

RMQ_COLLECTIVE(Allgatherv, allgatherv, _c,
               (const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                const MPI_Count recvcounts[], const MPI_Aint displs[], MPI_Datatype recvtype, MPI_Comm comm),
               allgather_each(run, sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, comm))

RMQ_COLLECTIVE(Alltoall, alltoall, ,
               (const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount,
                MPI_Datatype recvtype, MPI_Comm comm),
               alltoall_equal(run, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm))

RMQ_COLLECTIVE(Alltoall, alltoall, _c,
               (const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf, MPI_Count recvcount,
                MPI_Datatype recvtype, MPI_Comm comm),
               alltoall_equal(run, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm))

RMQ_COLLECTIVE(Alltoallv, alltoallv, ,
               (const void* sendbuf, const int sendcounts[], const int sdispls[], MPI_Datatype sendtype, void* recvbuf,
                const int recvcounts[], const int rdispls[], MPI_Datatype recvtype, MPI_Comm comm),
               alltoall_each(run, sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype, comm))

RMQ_COLLECTIVE(Alltoallv, alltoallv, _c,
               (const void* sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[], MPI_Datatype sendtype,
                void* recvbuf, const MPI_Count recvcounts[], const MPI_Aint rdispls[], MPI_Datatype recvtype,
                MPI_Comm comm),
               alltoall_each(run, sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype, comm))

RMQ_COLLECTIVE(Alltoallw, alltoallw, ,
               (const void* sendbuf, const int sendcounts[], const int sdispls[], const MPI_Datatype sendtypes[],
                void* recvbuf, const int recvcounts[], const int rdispls[], const MPI_Datatype recvtypes[],
                MPI_Comm comm),
               alltoall_typed(run, sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes,
                              comm))

RMQ_COLLECTIVE(Alltoallw, alltoallw, _c,
               (const void* sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[],
                const MPI_Datatype sendtypes[], void* recvbuf, const MPI_Count recvcounts[], const MPI_Aint rdispls[],
                const MPI_Datatype recvtypes[], MPI_Comm comm),
               alltoall_typed(run, sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes,
                              comm))

}  // namespace rmq::mpi
