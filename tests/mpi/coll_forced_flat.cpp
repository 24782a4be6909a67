// SPDX-License-Identifier: BSD-3-Clause
// ranks: 6
// The suites again with other algorithms than the sizes would choose: one rank serves all.
#include "coll_exchange.hpp"
#include "coll_move.hpp"
#include "coll_reduce.hpp"

int main(int argc, char** argv) {
  setenv(
      "RMQ_COLL",
      "barrier=tree,bcast=flat,reduce=flat,allreduce=flat,gather=linear,scatter=linear,allgather=flat,alltoall=batch",
      1);
  MPI_Init(&argc, &argv);
  for (int i = 0; i < 3; ++i) MPI_Barrier(MPI_COMM_WORLD);
  coll_test::move_suite({0, 1, 5, 400});
  coll_test::exchange_suite({1, 5, 60});
  coll_test::reduce_suite({1, 9, 300});
  return coll_test::finish();
}
