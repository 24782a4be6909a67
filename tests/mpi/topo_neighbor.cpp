// SPDX-License-Identifier: BSD-3-Clause
// ranks: 4
// Neighbourhood collectives: what arrives where, and errors.
#include "topo_neighbor.hpp"

namespace {

void errors() {
  int a[8] = {}, b[8] = {}, counts[2] = {1, -1}, at[2] = {0, 1};
  CHECK_CLASS(MPI_Neighbor_allgather(a, 1, MPI_INT, b, 1, MPI_INT, MPI_COMM_WORLD), MPI_ERR_TOPOLOGY);
  CHECK_CLASS(MPI_Neighbor_alltoall(a, 1, MPI_INT, b, 1, MPI_INT, MPI_COMM_NULL), MPI_ERR_COMM);
  MPI_Comm c = neighbor_test::cart({4}, {1});
  MPI_Comm_set_errhandler(c, MPI_ERRORS_RETURN);
  CHECK_CLASS(MPI_Neighbor_allgather(a, -1, MPI_INT, b, 1, MPI_INT, c), MPI_ERR_COUNT);
  CHECK_CLASS(MPI_Neighbor_allgather(a, 1, MPI_INT, b, 1, MPI_DATATYPE_NULL, c), MPI_ERR_TYPE);
  CHECK_CLASS(MPI_Neighbor_allgather(MPI_IN_PLACE, 1, MPI_INT, b, 1, MPI_INT, c), MPI_ERR_BUFFER);
  CHECK_CLASS(MPI_Neighbor_alltoall(nullptr, 1, MPI_INT, b, 1, MPI_INT, c), MPI_ERR_BUFFER);
  CHECK_CLASS(MPI_Neighbor_alltoall(a, 1, MPI_INT, a, 1, MPI_INT, c), MPI_ERR_BUFFER);
  CHECK_CLASS(MPI_Neighbor_allgatherv(a, 1, MPI_INT, b, counts, at, MPI_INT, c), MPI_ERR_COUNT);
  CHECK_CLASS(MPI_Neighbor_alltoallv(a, counts, at, MPI_INT, b, counts, at, MPI_INT, c), MPI_ERR_COUNT);
  CHECK_CLASS(MPI_Neighbor_alltoallv(a, nullptr, at, MPI_INT, b, counts, at, MPI_INT, c), MPI_ERR_ARG);
  // Longer than the receiver expects; what comes after works.
  CHECK_CLASS(MPI_Neighbor_allgather(a, 2, MPI_INT, b, 1, MPI_INT, c), MPI_ERR_TRUNCATE);
  CHECK(MPI_Neighbor_allgather(a, 1, MPI_INT, b, 1, MPI_INT, c) == MPI_SUCCESS);
  MPI_Comm_free(&c);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  neighbor_test::suite({0, 1, 5, 60000});
  errors();
  return check::finish();
}
