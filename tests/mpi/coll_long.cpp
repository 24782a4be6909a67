// SPDX-License-Identifier: BSD-3-Clause
// ranks: 4
// The same as coll_move, with messages long enough for the algorithms that cut them.
#include "coll_move.hpp"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  // 20000 ints lie between the limits of short and long messages, 270000 beyond them.
  coll_test::move_suite({20000}, 4);
  coll_test::move_suite({270000}, 1);
  return coll_test::finish();
}
