// SPDX-License-Identifier: BSD-3-Clause
// ranks: 4
// An epoch whose target, or the holder of whose lock, dies: every later call in it ends, and none succeeds without the
// lock.
#include <mpi.h>
#include <signal.h>

#include <initializer_list>

#include "mpi/check.hpp"

using check::class_of;

namespace {

bool is_failure(int code) {
  return class_of(code) == MPIX_ERR_PROC_FAILED;
}

/// Rank 1 holds its own lock, so that what ranks 0 and 3 ask of it is under way when it dies.
void check_target(MPI_Win win, int rank) {
  if (rank == 1) {
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win);
    for (const int origin : {0, 3}) MPI_Send(nullptr, 0, MPI_INT, origin, 1, MPI_COMM_WORLD);
    for (const int origin : {0, 3}) MPI_Recv(nullptr, 0, MPI_INT, origin, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    raise(SIGKILL);
  }
  if (rank == 2) return;
  int x = 5;
  MPI_Request request;
  MPI_Recv(nullptr, 0, MPI_INT, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  CHECK(MPI_Win_lock_all(0, win) == MPI_SUCCESS);
  CHECK(MPI_Rput(&x, 1, MPI_INT, 1, 0, 1, MPI_INT, win, &request) == MPI_SUCCESS);
  MPI_Send(nullptr, 0, MPI_INT, 1, 1, MPI_COMM_WORLD);
  CHECK(is_failure(MPI_Wait(&request, MPI_STATUS_IGNORE)));
  CHECK(is_failure(MPI_Put(&x, 1, MPI_INT, 1, 0, 1, MPI_INT, win)));
  if (rank == 0) MPI_Win_flush(1, win);
  CHECK(MPI_Put(&x, 1, MPI_INT, 3 - rank, 0, 1, MPI_INT, win) == MPI_SUCCESS);
  const int code = MPI_Win_unlock_all(win);
  CHECK(code == MPI_SUCCESS || is_failure(code));
}

/// Rank 2 dies with the lock of rank 3. Whoever wants it then has it, or is told that it does not, to the end.
void check_holder(MPI_Win win, int rank) {
  if (rank == 2) {
    int x;
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 3, 0, win);
    MPI_Get(&x, 1, MPI_INT, 3, 0, 1, MPI_INT, win);
    MPI_Win_flush(3, win);
    raise(SIGKILL);
  }
  int none, mine = 100 + rank, got = -1, old = -1;
  CHECK(is_failure(MPI_Recv(&none, 1, MPI_INT, 2, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE)));
  if (MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 3, 0, win) != MPI_SUCCESS) return;
  MPI_Put(&mine, 1, MPI_INT, 3, 0, 1, MPI_INT, win);
  const bool has = MPI_Win_flush(3, win) == MPI_SUCCESS;
  for (int i = 0; i < 2; ++i) {
    CHECK((MPI_Fetch_and_op(&mine, &old, MPI_INT, 3, 1, MPI_SUM, win) == MPI_SUCCESS) == has);
    CHECK((MPI_Get(&got, 1, MPI_INT, 3, 0, 1, MPI_INT, win) == MPI_SUCCESS) == has);
    CHECK((MPI_Win_flush(3, win) == MPI_SUCCESS) == has);
    CHECK(!has || got == mine);
  }
  CHECK((MPI_Win_unlock(3, win) == MPI_SUCCESS) == has);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  const int rank = check::rank(MPI_COMM_WORLD);
  int memory[2] = {0, 0}, *base;
  MPI_Win created, allocated;
  MPI_Win_create(memory, sizeof memory, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &created);
  MPI_Win_allocate(2 * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &base, &allocated);
  for (MPI_Win win : {created, allocated}) MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
  base[0] = base[1] = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  check_target(created, rank);
  check_holder(allocated, rank);
  CHECK(MPI_Win_free(&created) == MPI_SUCCESS);
  CHECK(MPI_Win_free(&allocated) == MPI_SUCCESS);
  return check::finish();
}
