/* SPDX-License-Identifier: BSD-3-Clause */
/* A parent and its child in one shared window: whoever waits there for a store of the other one is woken by it. Where
   no ring comes each wait lasts until a timer ends it, and the rounds last minutes: the launcher's --timeout ends them.
 */
#include "check.h"

enum { kRounds = 1500 };

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm parent, inter, all;
  MPI_Comm_get_parent(&parent);
  const int child = parent != MPI_COMM_NULL;
  if (child)
    inter = parent;
  else
    MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter, MPI_ERRCODES_IGNORE);
  MPI_Intercomm_merge(inter, child, &all);
  int me;
  long* memory;
  MPI_Win win;
  MPI_Comm_rank(all, &me);
  MPI_Win_allocate_shared(sizeof(long), sizeof(long), MPI_INFO_NULL, all, &memory, &win);
  *memory = 0;
  MPI_Barrier(all);
  MPI_Win_fence(0, win);
  for (long i = 1; i <= kRounds; ++i) {
    MPI_Put(&i, 1, MPI_LONG, 1 - me, 0, 1, MPI_LONG, win);
    MPI_Win_fence(0, win);
    CHECK(*memory == i);
    MPI_Win_fence(i < kRounds ? 0 : MPI_MODE_NOSUCCEED, win);
  }
  const long one = 1;
  for (int i = 0; i < kRounds; ++i) {
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
    MPI_Accumulate(&one, 1, MPI_LONG, 0, 0, 1, MPI_LONG, MPI_SUM, win);
    MPI_Win_unlock(0, win);
  }
  MPI_Barrier(all);
  if (me == 0) CHECK(*memory == 3 * kRounds);
  MPI_Win_free(&win);
  MPI_Comm_free(&all);
  MPI_Comm_disconnect(&inter);
  return finish();
}
