// SPDX-License-Identifier: BSD-3-Clause
// ranks: 5
// The suites with the persistent collectives.
#include "coll_exchange.hpp"
#include "coll_instead.hpp"
#include "coll_inter.hpp"
#include "coll_move.hpp"
#include "coll_reduce.hpp"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  coll_instead::form = coll_instead::Form::persistent;
  coll_test::move_suite({3, 4000});
  coll_test::exchange_suite({1, 2000});
  coll_test::reduce_suite({2, 5000});
  coll_test::inter_suite();
  coll_instead::form = coll_instead::Form::wait;
  coll_test::check(coll_instead::wrong == 0, "the other collectives");
  return coll_test::finish();
}
