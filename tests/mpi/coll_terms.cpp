// SPDX-License-Identifier: BSD-3-Clause
// ranks: 5
// Every rank is told to force other algorithms: all go by what rank 0 has been told.
#include "coll_move.hpp"
#include "coll_reduce.hpp"

int main(int argc, char** argv) {
  constexpr const char* kLists[] = {"barrier=tree,allreduce=ring,bcast=chain,allgather=bruck",
                                    "barrier=batch,allreduce=halving,bcast=flat,gather=linear",
                                    "barrier=dissemination,allreduce=doubling,reduce=halving",
                                    "allreduce=flat,bcast=scatter,allgather=ring", ""};
  const char* rank = std::getenv("RMQ_RANK");
  setenv("RMQ_COLL", kLists[rank ? std::atoi(rank) % 5 : 0], 1);
  MPI_Init(&argc, &argv);
  for (int i = 0; i < 3; ++i) MPI_Barrier(MPI_COMM_WORLD);
  coll_test::move_suite({1, 400});
  coll_test::reduce_suite({1, 300});
  return coll_test::finish();
}
