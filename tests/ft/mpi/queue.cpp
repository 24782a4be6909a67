// SPDX-License-Identifier: BSD-3-Clause
// ranks: 4
// A queue buffer one of whose members dies: who puts to it is told so and does not wait for ever, what it has put is
// taken, the others go on, and the queue can be freed.
#include <mpi.h>
#include <rmq_queue.h>
#include <signal.h>

#include <vector>

#include "mpi/check.hpp"

using check::class_of;

int main(int argc, char** argv) {
  constexpr int kEach = 1000, kDead = 1, kCapacity = 32;
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  const int rank = check::rank();
  rmq_queue queue;
  CHECK(rmq_queue_create(MPI_COMM_WORLD, sizeof(int), kCapacity, &queue) == MPI_SUCCESS);
  int most = 0, done = 0, n = 0, got[4] = {}, next[4] = {}, wrong = 0;
  CHECK(rmq_queue_most(queue, &most) == MPI_SUCCESS);
  std::vector<int> messages(static_cast<std::size_t>(most));
  const auto take = [&] {
    CHECK(rmq_queue_get(queue, messages.data(), &n) == MPI_SUCCESS);
    for (int i = 0; i < n; ++i) {
      const int from = messages[static_cast<std::size_t>(i)] / kEach,
                number = messages[static_cast<std::size_t>(i)] % kEach;
      ++got[from];
      wrong += number != next[from]++;
    }
  };
  if (rank == kDead) {
    // Three to each, which are there before its death is told; and its own buffer is locked.
    CHECK(rmq_queue_lock(queue) == MPI_SUCCESS);
    for (int i = 0; i < 3; ++i)
      for (const int to : {0, 2, 3}) {
        const int message = rank * kEach + i;
        CHECK(rmq_queue_put(queue, to, &message, -1, &done) == MPI_SUCCESS && done == 1);
      }
    int ready;  // nobody has to wait for what has not left
    for (const int to : {0, 2, 3}) MPI_Ssend(&rank, 1, MPI_INT, to, 1, MPI_COMM_WORLD);
    MPI_Recv(&ready, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    raise(SIGKILL);
  }
  int x;
  MPI_Recv(&x, 1, MPI_INT, kDead, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (rank == 0) MPI_Send(&rank, 1, MPI_INT, kDead, 2, MPI_COMM_WORLD);
  // Without end, were it not told.
  int code = MPI_SUCCESS;
  while (code == MPI_SUCCESS) code = rmq_queue_put(queue, kDead, &rank, -1, &done);
  CHECK(class_of(code) == MPIX_ERR_PROC_FAILED);
  for (int i = 0; i < kEach; ++i) {
    for (const int to : {0, 2, 3}) {
      const int message = rank * kEach + i;
      do {
        CHECK(rmq_queue_try_put(queue, to, &message, &done) == MPI_SUCCESS);
        if (!done) take();
      } while (!done);
    }
  }
  while (got[0] < kEach || got[2] < kEach || got[3] < kEach || got[kDead] < 3) take();
  CHECK(got[0] == kEach && got[2] == kEach && got[3] == kEach && got[kDead] == 3 && wrong == 0);
  CHECK(rmq_queue_free(&queue) == MPI_SUCCESS);
  return check::finish();
}
