// SPDX-License-Identifier: BSD-3-Clause
// ranks: 7
// Bcast, Gather(v), Scatter(v), Allgather(v): every byte of the buffers, by seed (COLL_SEED).
#include "coll_move.hpp"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  coll_test::move_suite({0, 1, 700, 6000});
  return coll_test::finish();
}
