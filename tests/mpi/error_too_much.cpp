// SPDX-License-Identifier: BSD-3-Clause
// ranks: 3
// Counts whose data would be 2^63 bytes or more raise MPI_ERR_COUNT through the handler, on all ranks and before
// anything is sent: one product, and the sum over the blocks of a collective.
#include <cstdint>
#include <vector>

#include "check.hpp"

namespace {

constexpr MPI_Count kHuge = MPI_Count{1} << 60;  // doubles: 2^63 bytes
constexpr MPI_Count kMost = INT64_MAX;
const MPI_Comm world = MPI_COMM_WORLD;
double a[8], b[8];

void points() {
  MPI_Request r;
  MPI_Message m;
  MPI_Status s;
  const int me = check::rank();
  for (const MPI_Count count : {kHuge, kMost / 2, kMost}) {
    CHECK_CLASS(MPI_Send_c(a, count, MPI_DOUBLE, me, 0, world), MPI_ERR_COUNT);
    CHECK_CLASS(MPI_Isend_c(a, count, MPI_DOUBLE, me, 0, world, &r), MPI_ERR_COUNT);
    CHECK_CLASS(MPI_Bsend_c(a, count, MPI_DOUBLE, me, 0, world), MPI_ERR_COUNT);
    CHECK_CLASS(MPI_Send_init_c(a, count, MPI_DOUBLE, me, 0, world, &r), MPI_ERR_COUNT);
    CHECK_CLASS(MPI_Recv_c(a, count, MPI_DOUBLE, me, 0, world, &s), MPI_ERR_COUNT);
    CHECK_CLASS(MPI_Sendrecv_c(a, 1, MPI_DOUBLE, me, 0, b, count, MPI_DOUBLE, me, 0, world, &s), MPI_ERR_COUNT);
    CHECK_CLASS(MPI_Psend_init(a, 2, count, MPI_DOUBLE, me, 0, world, MPI_INFO_NULL, &r), MPI_ERR_COUNT);
    CHECK_CLASS(MPI_Reduce_local_c(a, b, count, MPI_DOUBLE, MPI_SUM), MPI_ERR_COUNT);
    MPI_Isend(a, 1, MPI_DOUBLE, me, 0, world, &r);
    MPI_Mprobe(me, 0, world, &m, &s);
    CHECK_CLASS(MPI_Mrecv_c(b, count, MPI_DOUBLE, &m, &s), MPI_ERR_COUNT);
    MPI_Mrecv(b, 1, MPI_DOUBLE, &m, &s);
    MPI_Wait(&r, &s);
  }
  // A count of int may do it, too.
  MPI_Datatype large;
  MPI_Type_contiguous_c(MPI_Count{1} << 32, MPI_BYTE, &large);
  MPI_Type_commit(&large);
  CHECK_CLASS(MPI_Send(a, INT32_MAX, large, MPI_PROC_NULL, 0, world), MPI_SUCCESS);
  MPI_Datatype larger;
  MPI_Type_contiguous(4, large, &larger);
  MPI_Type_commit(&larger);
  CHECK_CLASS(MPI_Send(a, INT32_MAX, larger, me, 0, world), MPI_ERR_COUNT);
  MPI_Type_free(&large);
  MPI_Type_free(&larger);
}

void collectives() {
  MPI_Request r;
  for (const MPI_Count count : {kHuge, kMost}) {
    CHECK_CLASS(MPI_Bcast_c(a, count, MPI_DOUBLE, 0, world), MPI_ERR_COUNT);
    CHECK_CLASS(MPI_Ibcast_c(a, count, MPI_DOUBLE, 0, world, &r), MPI_ERR_COUNT);
    CHECK_CLASS(MPI_Reduce_c(a, b, count, MPI_DOUBLE, MPI_SUM, 0, world), MPI_ERR_COUNT);
    CHECK_CLASS(MPI_Allreduce_c(a, b, count, MPI_DOUBLE, MPI_SUM, world), MPI_ERR_COUNT);
    CHECK_CLASS(MPI_Scan_c(a, b, count, MPI_DOUBLE, MPI_SUM, world), MPI_ERR_COUNT);
  }
  // One block would do, all together do not.
  const MPI_Count third = kHuge / 3 + 1;
  const std::vector<MPI_Count> thirds(3, third), most(3, kMost);
  const std::vector<MPI_Aint> at(3);
  CHECK_CLASS(MPI_Gather_c(a, third, MPI_DOUBLE, b, third, MPI_DOUBLE, 0, world), MPI_ERR_COUNT);
  CHECK_CLASS(MPI_Scatter_c(a, third, MPI_DOUBLE, b, third, MPI_DOUBLE, 0, world), MPI_ERR_COUNT);
  CHECK_CLASS(MPI_Allgather_c(a, third, MPI_DOUBLE, b, third, MPI_DOUBLE, world), MPI_ERR_COUNT);
  CHECK_CLASS(MPI_Alltoall_c(a, third, MPI_DOUBLE, b, third, MPI_DOUBLE, world), MPI_ERR_COUNT);
  CHECK_CLASS(MPI_Reduce_scatter_block_c(a, b, third, MPI_DOUBLE, MPI_SUM, world), MPI_ERR_COUNT);
  CHECK_CLASS(MPI_Reduce_scatter_block_c(a, b, kMost, MPI_BYTE, MPI_BOR, world), MPI_ERR_COUNT);
  for (const auto& counts : {thirds, most}) {
    const auto* n = counts.data();
    CHECK_CLASS(MPI_Allgatherv_c(a, n[0], MPI_DOUBLE, b, n, at.data(), MPI_DOUBLE, world), MPI_ERR_COUNT);
    CHECK_CLASS(MPI_Alltoallv_c(a, n, at.data(), MPI_DOUBLE, b, n, at.data(), MPI_DOUBLE, world), MPI_ERR_COUNT);
    const std::vector<MPI_Datatype> types(3, MPI_DOUBLE);
    CHECK_CLASS(MPI_Alltoallw_c(a, n, at.data(), types.data(), b, n, at.data(), types.data(), world), MPI_ERR_COUNT);
    CHECK_CLASS(MPI_Reduce_scatter_c(a, b, n, MPI_DOUBLE, MPI_SUM, world), MPI_ERR_COUNT);
  }
  MPI_Comm ring;
  const int size[] = {3}, around[] = {1};
  MPI_Cart_create(world, 1, size, around, 0, &ring);
  CHECK_CLASS(MPI_Neighbor_alltoall_c(a, kHuge / 2, MPI_DOUBLE, b, kHuge / 2, MPI_DOUBLE, ring), MPI_ERR_COUNT);
  CHECK_CLASS(MPI_Neighbor_allgather_c(a, kHuge, MPI_DOUBLE, b, 1, MPI_DOUBLE, ring), MPI_ERR_COUNT);
  MPI_Comm_free(&ring);
}

void windows() {
  MPI_Win w;
  MPI_Win_create(b, sizeof b, 8, MPI_INFO_NULL, world, &w);
  MPI_Win_set_errhandler(w, MPI_ERRORS_RETURN);
  MPI_Win_fence(0, w);
  CHECK_CLASS(MPI_Put_c(a, kHuge, MPI_DOUBLE, 0, 0, kHuge, MPI_DOUBLE, w), MPI_ERR_COUNT);
  CHECK_CLASS(MPI_Get_c(a, 1, MPI_DOUBLE, 0, 0, kHuge, MPI_DOUBLE, w), MPI_ERR_COUNT);
  MPI_Win_fence(0, w);
  MPI_Win_free(&w);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  points();
  collectives();
  windows();
  MPI_Barrier(world);
  return check::finish();
}
