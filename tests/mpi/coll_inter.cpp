// SPDX-License-Identifier: BSD-3-Clause
// ranks: 5
// The collectives on inter-communicators: between the even and the odd ranks, and between rank 0 and the others.
#include "coll_inter.hpp"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  coll_test::inter_suite();
  return coll_test::finish();
}
