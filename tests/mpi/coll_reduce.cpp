// SPDX-License-Identifier: BSD-3-Clause
// ranks: 7
// The reducing collectives with predefined and user operations.
#include "coll_reduce.hpp"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  coll_test::reduce_suite({0, 2, 600, 5000});
  return coll_test::finish();
}
