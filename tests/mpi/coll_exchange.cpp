// SPDX-License-Identifier: BSD-3-Clause
// ranks: 8
// Alltoall(v,w): every byte of the buffers, by seed (COLL_SEED).
#include "coll_exchange.hpp"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  coll_test::exchange_suite({0, 5, 300, 2000});
  coll_test::exchange_suite({9000}, 1);
  return coll_test::finish();
}
