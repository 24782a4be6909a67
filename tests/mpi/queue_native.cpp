// SPDX-License-Identifier: BSD-3-Clause
// ranks: 4
#include <cstdlib>

#include "queue_exchange.hpp"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  queue_test::suite<rmq::NativeQueueBuffer>(argc > 1 ? std::atoi(argv[1]) : 5000);
  rmq_queue q = nullptr;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  CHECK_CLASS(rmq_queue_create(MPI_COMM_WORLD, 0, 1, &q), MPI_ERR_ARG);
  CHECK_CLASS(rmq_queue_create(MPI_COMM_WORLD, 8, check::rank() + 1, &q), MPI_ERR_ARG);
  CHECK_CLASS(rmq_queue_lock(nullptr), MPI_ERR_ARG);
  CHECK(rmq_queue_create(MPI_COMM_WORLD, 8, 1, &q) == MPI_SUCCESS);
  int done = 0;
  CHECK_CLASS(rmq_queue_try_put(q, check::size(), &done, &done), MPI_ERR_RANK);
  CHECK(rmq_queue_free(&q) == MPI_SUCCESS && q == nullptr);
  return check::finish();
}
