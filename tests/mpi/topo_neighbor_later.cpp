// SPDX-License-Identifier: BSD-3-Clause
// ranks: 4
// Non-blocking and persistent neighbourhood collectives: the blocking ones' suite, and what only these can do wrong.
#include "coll_instead.hpp"
#include "topo_neighbor.hpp"

COLL_INSTEAD_OF(Neighbor_allgather, neighbor_allgather, ,
                (const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount,
                 MPI_Datatype recvtype, MPI_Comm comm),
                sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm)
COLL_INSTEAD_OF(Neighbor_allgather, neighbor_allgather, _c,
                (const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf, MPI_Count recvcount,
                 MPI_Datatype recvtype, MPI_Comm comm),
                sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm)
COLL_INSTEAD_OF(Neighbor_allgatherv, neighbor_allgatherv, ,
                (const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, const int recvcounts[],
                 const int displs[], MPI_Datatype recvtype, MPI_Comm comm),
                sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, comm)
COLL_INSTEAD_OF(Neighbor_allgatherv, neighbor_allgatherv, _c,
                (const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                 const MPI_Count recvcounts[], const MPI_Aint displs[], MPI_Datatype recvtype, MPI_Comm comm),
                sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, comm)
COLL_INSTEAD_OF(Neighbor_alltoall, neighbor_alltoall, ,
                (const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount,
                 MPI_Datatype recvtype, MPI_Comm comm),
                sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm)
COLL_INSTEAD_OF(Neighbor_alltoall, neighbor_alltoall, _c,
                (const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf, MPI_Count recvcount,
                 MPI_Datatype recvtype, MPI_Comm comm),
                sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm)
COLL_INSTEAD_OF(Neighbor_alltoallv, neighbor_alltoallv, ,
                (const void* sendbuf, const int sendcounts[], const int sdispls[], MPI_Datatype sendtype, void* recvbuf,
                 const int recvcounts[], const int rdispls[], MPI_Datatype recvtype, MPI_Comm comm),
                sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype, comm)
COLL_INSTEAD_OF(Neighbor_alltoallv, neighbor_alltoallv, _c,
                (const void* sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[], MPI_Datatype sendtype,
                 void* recvbuf, const MPI_Count recvcounts[], const MPI_Aint rdispls[], MPI_Datatype recvtype,
                 MPI_Comm comm),
                sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype, comm)
COLL_INSTEAD_OF(Neighbor_alltoallw, neighbor_alltoallw, ,
                (const void* sendbuf, const int sendcounts[], const MPI_Aint sdispls[], const MPI_Datatype sendtypes[],
                 void* recvbuf, const int recvcounts[], const MPI_Aint rdispls[], const MPI_Datatype recvtypes[],
                 MPI_Comm comm),
                sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes, comm)
COLL_INSTEAD_OF(Neighbor_alltoallw, neighbor_alltoallw, _c,
                (const void* sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[],
                 const MPI_Datatype sendtypes[], void* recvbuf, const MPI_Count recvcounts[], const MPI_Aint rdispls[],
                 const MPI_Datatype recvtypes[], MPI_Comm comm),
                sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes, comm)

namespace {

using neighbor_test::cart;

/// Arrays and types of the program may go once the call has returned.
void arguments_go() {
  MPI_Comm c = cart({4}, {1});
  const int me = check::rank(c), down = (me + 3) % 4, up = (me + 1) % 4;
  const int send[] = {me * 10, me * 10 + 1, me * 10 + 2, me * 10 + 3};
  int recv[] = {-1, -1, -1, -1};
  std::vector<int> counts{1, 1};
  std::vector<MPI_Aint> at{0, 8};
  MPI_Datatype pair;
  MPI_Type_contiguous(2, MPI_INT, &pair);
  MPI_Type_commit(&pair);
  std::vector<MPI_Datatype> types{pair, pair};
  MPI_Request r;
  MPI_Ineighbor_alltoallw(send, counts.data(), at.data(), types.data(), recv, counts.data(), at.data(), types.data(), c,
                          &r);
  counts.assign(2, -1), at.assign(2, 1 << 20), types.assign(2, MPI_DATATYPE_NULL);
  MPI_Type_free(&pair);
  MPI_Comm_free(&c);
  MPI_Wait(&r, MPI_STATUS_IGNORE);
  CHECK(recv[0] == down * 10 + 2 && recv[1] == down * 10 + 3 && recv[2] == up * 10 && recv[3] == up * 10 + 1);
}

/// More neighbours than ranks: all their counts are kept. Two at a time, each started again before others are done.
void again() {
  constexpr int kEdges = 9, kTimes = 20;
  const int me = check::rank(), next = (me + 1) % 4, last = (me + 3) % 4;
  const std::vector<int> from(kEdges, last), to(kEdges, next);
  MPI_Comm c;
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, kEdges, from.data(), MPI_UNWEIGHTED, kEdges, to.data(), MPI_UNWEIGHTED,
                                 MPI_INFO_NULL, 0, &c);
  int send[2][kEdges], recv[2][kEdges];
  std::vector<int> ones(kEdges, 1), at(kEdges);
  for (int i = 0; i < kEdges; ++i) at[static_cast<std::size_t>(i)] = i;
  MPI_Request r[2];
  for (int k = 0; k < 2; ++k) {
    MPI_Neighbor_alltoallv_init(send[k], ones.data(), at.data(), MPI_INT, recv[k], ones.data(), at.data(), MPI_INT, c,
                                MPI_INFO_NULL, &r[k]);
  }
  ones.assign(kEdges, -1), at.assign(kEdges, 1 << 20);
  const auto value = [](int rank, int k, int time, int i) { return ((rank * 2 + k) * kTimes + time) * kEdges + i; };
  bool good = true;
  for (int time = 0; time < kTimes; ++time) {
    for (int k = 0; k < 2; ++k) {
      for (int i = 0; i < kEdges; ++i) send[k][i] = value(me, k, time, i);
    }
    // Ranks may start persistent collectives in different orders.
    MPI_Start(&r[me % 2]), MPI_Start(&r[1 - me % 2]);
    MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
    for (int k = 0; k < 2; ++k) {
      for (int i = 0; i < kEdges; ++i) good = good && recv[k][i] == value(last, k, time, i);
    }
  }
  CHECK(good);
  MPI_Request_free(&r[0]), MPI_Request_free(&r[1]);
  MPI_Comm_free(&c);
}

void errors() {
  int a[8] = {}, b[8] = {};
  MPI_Request r;
  CHECK_CLASS(MPI_Ineighbor_allgather(a, 1, MPI_INT, b, 1, MPI_INT, MPI_COMM_WORLD, &r), MPI_ERR_TOPOLOGY);
  MPI_Comm c = cart({4}, {1});
  MPI_Comm_set_errhandler(c, MPI_ERRORS_RETURN);
  CHECK_CLASS(MPI_Neighbor_alltoall_init(a, -1, MPI_INT, b, 1, MPI_INT, c, MPI_INFO_NULL, &r), MPI_ERR_COUNT);
  CHECK_CLASS(MPI_Ineighbor_alltoall(a, 1, MPI_INT, a, 1, MPI_INT, c, &r), MPI_ERR_BUFFER);
  CHECK_CLASS(MPI_Ineighbor_alltoall(a, 1, MPI_INT, b, 1, MPI_INT, c, nullptr), MPI_ERR_ARG);
  CHECK(MPI_Ineighbor_allgather(a, 2, MPI_INT, b, 1, MPI_INT, c, &r) == MPI_SUCCESS);
  CHECK_CLASS(MPI_Wait(&r, MPI_STATUS_IGNORE), MPI_ERR_TRUNCATE);
  MPI_Comm_free(&c);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  using coll_instead::Form;
  for (const Form form : {Form::wait, Form::test, Form::among, Form::persistent}) {
    coll_instead::form = form;
    neighbor_test::suite({1, 40000});
  }
  CHECK(coll_instead::wrong == 0);
  arguments_go();
  again();
  errors();
  return check::finish();
}
