// ranks: 4
// The same as coll_move, with messages long enough for the algorithms that cut them.
#include "coll_move.hpp"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  coll_test::move_suite({30000, 300001});
  return coll_test::finish();
}
