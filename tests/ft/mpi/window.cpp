// SPDX-License-Identifier: BSD-3-Clause
// ranks: 4
// A window whose member dies: what needs it ends with an error, the others' part works, and the window can be freed.
#include <mpi.h>
#include <signal.h>

#include <initializer_list>

#include "mpi/check.hpp"

using check::class_of;

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, *base, one = 1, old = -1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Win win;
  MPI_Win_allocate(2 * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
  MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
  base[0] = base[1] = 0;
  CHECK(MPI_Win_fence(0, win) == MPI_SUCCESS);
  CHECK(MPI_Win_fence(0, win) == MPI_SUCCESS);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 1) {
    // It dies with the lock of rank 3.
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 3, 0, win);
    MPI_Fetch_and_op(&one, &old, MPI_INT, 3, 0, MPI_SUM, win);
    MPI_Win_flush(3, win);
    raise(SIGKILL);
  }
  int x;
  CHECK(class_of(MPI_Recv(&x, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE)) == MPIX_ERR_PROC_FAILED);
  // A lock that the dead holds: where a target gives it out, it is free again; where ranks take it in shared memory,
  // all are told. Nobody waits for ever. And one of the dead, whose memory may still be there.
  for (const int target : {3, 1}) {
    int code = MPI_Win_lock(MPI_LOCK_SHARED, target, 0, win);
    if (code == MPI_SUCCESS) {
      const int got = MPI_Get(&x, 1, MPI_INT, target, 0, 1, MPI_INT, win);
      code = MPI_Win_unlock(target, win);
      if (code == MPI_SUCCESS) code = got;
    }
    CHECK(code == MPI_SUCCESS || class_of(code) == MPIX_ERR_PROC_FAILED);
  }
  // One that fails has begun no epoch: the window can be freed below.
  {
    const int code = MPI_Win_lock_all(0, win);
    CHECK(code == MPI_SUCCESS || class_of(code) == MPIX_ERR_PROC_FAILED);
    if (code == MPI_SUCCESS) MPI_Win_unlock_all(win);
  }
  CHECK(MPI_Win_lock(MPI_LOCK_SHARED, 2, 0, win) == MPI_SUCCESS);
  CHECK(MPI_Accumulate(&one, 1, MPI_INT, 2, 1, 1, MPI_INT, MPI_SUM, win) == MPI_SUCCESS);
  CHECK(MPI_Win_unlock(2, win) == MPI_SUCCESS);
  MPI_Comm small;
  CHECK(MPIX_Comm_shrink(MPI_COMM_WORLD, &small) == MPI_SUCCESS && MPI_Barrier(small) == MPI_SUCCESS);
  if (rank == 2) CHECK(base[1] == 3);
  MPI_Group failed, all;
  int place = 0, who = -1, how_many = -1;
  CHECK(MPIX_Win_get_failed(win, &failed) == MPI_SUCCESS && MPI_Group_size(failed, &how_many) == MPI_SUCCESS);
  MPI_Win_get_group(win, &all);
  MPI_Group_translate_ranks(failed, 1, &place, all, &who);
  CHECK(how_many == 1 && who == 1);
  MPI_Group_free(&failed);
  MPI_Group_free(&all);
  CHECK(class_of(MPI_Win_fence(0, win)) == MPIX_ERR_PROC_FAILED);
  CHECK(MPI_Win_free(&win) == MPI_SUCCESS);
  // Those that are left make another.
  MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, small, &base, &win);
  *base = 0;
  MPI_Win_fence(0, win);
  MPI_Accumulate(&one, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM, win);
  CHECK(MPI_Win_fence(0, win) == MPI_SUCCESS);
  if (check::rank(small) == 0) CHECK(*base == 3);
  CHECK(MPI_Win_free(&win) == MPI_SUCCESS);
  MPI_Comm_free(&small);
  return check::finish();
}
