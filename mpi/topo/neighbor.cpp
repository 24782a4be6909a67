// SPDX-License-Identifier: BSD-3-Clause
// Chapter 8.6: neighbourhood collectives.
//
// Each is one batch of messages, straight to the neighbours. Where two ranks are neighbours several times over, all
// their messages have the same tag, so the order of sends and receives says which is for which block: sends leave in
// the order of the destinations. Receives are posted in the order of the sources; in a grid each pair of a dimension
// the other way round, for what is sent down arrives from above. That tells apart the two neighbours in a ring of one
// or two processes; of more dimensions only those of one process lead to the same rank, pair by pair.
#include <algorithm>
#include <vector>

#include "engine/coll/steps.hpp"
#include "engine/comm/topology.hpp"
#include "mpi/coll/define.hpp"

namespace rmq::mpi {
namespace {

using coll::Blocks;
using coll::List;
using coll::Numbers;

int degree(const std::vector<int>& neighbours) {
  return static_cast<int>(neighbours.size());
}

int rank_at(const std::vector<int>& neighbours, int i) {
  return neighbours[static_cast<std::size_t>(i)];
}

/// Sends each neighbour its block and receives theirs; blocks of MPI_PROC_NULL are left alone.
int exchange(Comm& c, const List& send, const List& recv) {
  const Neighbours& n = c.topology->neighbours;
  coll::Steps s(c);
  coll::Batch batch(s);
  for (int i = 0; i < degree(n.destinations); ++i) {
    if (const int to = rank_at(n.destinations, i); to != MPI_PROC_NULL) batch.send(to, send.blocks[i]);
  }
  for (int i = 0; i < degree(n.sources); ++i) {
    const int block = n.paired ? i ^ 1 : i;
    if (const int from = rank_at(n.sources, block); from != MPI_PROC_NULL) batch.recv(from, recv.blocks[block]);
  }
  batch.finish();
  return s.error();
}

/// Runs the exchange of checked blocks. MPI gives in place no meaning here; only the first blocks are looked at.
template <class Run>
int run_exchange(const Run& run, Comm& c, const Neighbours& n, const Blocks& send, const Blocks& recv) {
  const auto used = [](const std::vector<int>& list) { return !list.empty() && list[0] != MPI_PROC_NULL; };
  if (used(n.destinations) && used(n.sources)) coll::refuse_alias(send[0], recv[0]);
  return run(c, exchange, List{send, degree(n.destinations)}, List{recv, degree(n.sources)});
}

/// Equal blocks. Without neighbours the address means nothing.
Blocks equal_arg(const void* data, MPI_Count count, MPI_Datatype type, int n, const coll::SideNames& names) {
  count_arg(count, names.counts);
  const Datatype& t = coll::type_arg_of(count, type, names.type);
  coll::blocks_bytes_arg(t, count, std::max(n, 1), names.counts);
  if (count > 0 && coll::is_in_place(data)) coll::refuse_in_place(names.data);
  if (!data && count > 0 && n > 0 && t.predefined) detail::null_argument(MPI_ERR_BUFFER, names.data);
  return Blocks::uniform(data, count, t);
}

constexpr coll::SideNames kSendEqual{"sendbuf", "sendcount", nullptr, "sendtype"};
constexpr coll::SideNames kRecvEqual{"recvbuf", "recvcount", nullptr, "recvtype"};

/// The same block for each destination.
Blocks same_arg(const void* data, MPI_Count count, MPI_Datatype type, int n) {
  const Blocks one = equal_arg(data, count, type, n, kSendEqual);
  return Blocks::spread(data, Numbers(count, 0), Numbers(0, 0), *one.type());
}

/// Blocks by counts and displacements. Without neighbours all may be null.
template <class Count, class Displacement>
Blocks each_arg(const void* data, const Count* counts, const Displacement* displacements, MPI_Datatype type, int n,
                const coll::SideNames& names) {
  return n == 0 ? coll::no_blocks() : coll::spread_arg(data, counts, displacements, type, n, names);
}

template <class Run>
int allgather_equal(const Run& run, const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                    MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm,
                    Function function = __builtin_FUNCTION()) {
  return enter(
      comm,
      [&](Comm& c) {
        const Neighbours& n = neighbours_arg(c);
        const Blocks send = same_arg(sendbuf, sendcount, sendtype, degree(n.destinations));
        const Blocks recv = equal_arg(recvbuf, recvcount, recvtype, degree(n.sources), kRecvEqual);
        return run_exchange(run, c, n, send, recv);
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
        const Neighbours& n = neighbours_arg(c);
        const Blocks send = same_arg(sendbuf, sendcount, sendtype, degree(n.destinations));
        const Blocks recv = each_arg(recvbuf, recvcounts, displs, recvtype, degree(n.sources), coll::kRootRecvNames);
        return run_exchange(run, c, n, send, recv);
      },
      function);
}

template <class Run>
int alltoall_equal(const Run& run, const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                   MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm,
                   Function function = __builtin_FUNCTION()) {
  return enter(
      comm,
      [&](Comm& c) {
        const Neighbours& n = neighbours_arg(c);
        const Blocks send = equal_arg(sendbuf, sendcount, sendtype, degree(n.destinations), kSendEqual);
        const Blocks recv = equal_arg(recvbuf, recvcount, recvtype, degree(n.sources), kRecvEqual);
        return run_exchange(run, c, n, send, recv);
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
        const Neighbours& n = neighbours_arg(c);
        const Blocks send = each_arg(sendbuf, sendcounts, sdispls, sendtype, degree(n.destinations), coll::kSendNames);
        const Blocks recv = each_arg(recvbuf, recvcounts, rdispls, recvtype, degree(n.sources), coll::kRecvNames);
        return run_exchange(run, c, n, send, recv);
      },
      function);
}

/// One side of a Neighbor_alltoallw; fills `types`. The type of a block of MPI_PROC_NULL is not looked at.
template <class Count>
Blocks typed_arg(const void* data, const Count* counts, const MPI_Aint* displacements, const MPI_Datatype* handles,
                 const std::vector<int>& neighbours, const coll::SideNames& names,
                 std::vector<const Datatype*>& types) {
  const int n = degree(neighbours);
  if (n == 0) return coll::no_blocks();
  const MPI_Count total = coll::counts_arg(Numbers(counts), !counts, n, names.counts);
  if (total > 0 && coll::is_in_place(data)) coll::refuse_in_place(names.data);
  if (!displacements) detail::null_argument(MPI_ERR_ARG, names.displacements);
  if (!handles) detail::null_argument(MPI_ERR_ARG, names.type);
  types = coll::types_arg(Numbers(counts), handles, n, names,
                          [&](int i) { return rank_at(neighbours, i) != MPI_PROC_NULL; });
  return Blocks::typed(data, Numbers(counts), Numbers(displacements), types.data());
}

template <class Run, class Count>
int alltoall_typed(const Run& run, const void* sendbuf, const Count* sendcounts, const MPI_Aint* sdispls,
                   const MPI_Datatype* sendtypes, void* recvbuf, const Count* recvcounts, const MPI_Aint* rdispls,
                   const MPI_Datatype* recvtypes, MPI_Comm comm, Function function = __builtin_FUNCTION()) {
  constexpr coll::SideNames kSend{"sendbuf", "sendcounts", "sdispls", "sendtypes"};
  constexpr coll::SideNames kRecv{"recvbuf", "recvcounts", "rdispls", "recvtypes"};
  return enter(
      comm,
      [&](Comm& c) {
        const Neighbours& n = neighbours_arg(c);
        std::vector<const Datatype*> in, out;
        const Blocks send = typed_arg(sendbuf, sendcounts, sdispls, sendtypes, n.destinations, kSend, out);
        const Blocks recv = typed_arg(recvbuf, recvcounts, rdispls, recvtypes, n.sources, kRecv, in);
        return run_exchange(run, c, n, send, recv);
      },
      function);
}

}  // namespace

RMQ_COLLECTIVE(Neighbor_allgather, neighbor_allgather, ,
               (const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount,
                MPI_Datatype recvtype, MPI_Comm comm),
               allgather_equal(run, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm))

RMQ_COLLECTIVE(Neighbor_allgather, neighbor_allgather, _c,
               (const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf, MPI_Count recvcount,
                MPI_Datatype recvtype, MPI_Comm comm),
               allgather_equal(run, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm))

RMQ_COLLECTIVE(Neighbor_allgatherv, neighbor_allgatherv, ,
               (const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, const int recvcounts[],
                const int displs[], MPI_Datatype recvtype, MPI_Comm comm),
               allgather_each(run, sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, comm))

RMQ_COLLECTIVE(Neighbor_allgatherv, neighbor_allgatherv, _c,
               (const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                const MPI_Count recvcounts[], const MPI_Aint displs[], MPI_Datatype recvtype, MPI_Comm comm),
               allgather_each(run, sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, comm))

RMQ_COLLECTIVE(Neighbor_alltoall, neighbor_alltoall, ,
               (const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount,
                MPI_Datatype recvtype, MPI_Comm comm),
               alltoall_equal(run, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm))

RMQ_COLLECTIVE(Neighbor_alltoall, neighbor_alltoall, _c,
               (const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf, MPI_Count recvcount,
                MPI_Datatype recvtype, MPI_Comm comm),
               alltoall_equal(run, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm))

RMQ_COLLECTIVE(Neighbor_alltoallv, neighbor_alltoallv, ,
               (const void* sendbuf, const int sendcounts[], const int sdispls[], MPI_Datatype sendtype, void* recvbuf,
                const int recvcounts[], const int rdispls[], MPI_Datatype recvtype, MPI_Comm comm),
               alltoall_each(run, sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype, comm))

RMQ_COLLECTIVE(Neighbor_alltoallv, neighbor_alltoallv, _c,
               (const void* sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[], MPI_Datatype sendtype,
                void* recvbuf, const MPI_Count recvcounts[], const MPI_Aint rdispls[], MPI_Datatype recvtype,
                MPI_Comm comm),
               alltoall_each(run, sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype, comm))

RMQ_COLLECTIVE(Neighbor_alltoallw, neighbor_alltoallw, ,
               (const void* sendbuf, const int sendcounts[], const MPI_Aint sdispls[], const MPI_Datatype sendtypes[],
                void* recvbuf, const int recvcounts[], const MPI_Aint rdispls[], const MPI_Datatype recvtypes[],
                MPI_Comm comm),
               alltoall_typed(run, sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes,
                              comm))

RMQ_COLLECTIVE(Neighbor_alltoallw, neighbor_alltoallw, _c,
               (const void* sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[],
                const MPI_Datatype sendtypes[], void* recvbuf, const MPI_Count recvcounts[], const MPI_Aint rdispls[],
                const MPI_Datatype recvtypes[], MPI_Comm comm),
               alltoall_typed(run, sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes,
                              comm))

}  // namespace rmq::mpi
