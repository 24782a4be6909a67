// SPDX-License-Identifier: BSD-3-Clause
// ranks: 3
// A window of 5 GB for each rank, more than the heap holds: within a host its memory is reached like any window's, and
// nothing is touched but what the program touches.
#include <cstdint>

#include "win_test.hpp"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int me = check::rank(), n = check::size();
  constexpr MPI_Aint kBytes = MPI_Aint{5} << 30;
  std::int64_t* memory = nullptr;
  MPI_Win win = MPI_WIN_NULL;
  // One rank has a small part: memory of both kinds in one window.
  const MPI_Aint mine = me == n - 1 ? 64 : kBytes;
  CHECK(MPI_Win_allocate(mine, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win) == MPI_SUCCESS);
  CHECK(memory[0] == 0 && memory[mine / 8 - 1] == 0);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock_all(0, win);
  const int next = (me + 1) % n;
  const MPI_Aint last = (next == n - 1 ? 64 : kBytes) / 8 - 1;
  const std::int64_t value = 100 + me;
  MPI_Put(&value, 1, MPI_INT64_T, next, last, 1, MPI_INT64_T, win);
  const std::int64_t one = 1;
  for (int r = 0; r < n; ++r) MPI_Accumulate(&one, 1, MPI_INT64_T, r, 1, 1, MPI_INT64_T, MPI_SUM, win);
  MPI_Win_flush_all(win);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_sync(win);
  CHECK(memory[mine / 8 - 1] == 100 + (me + n - 1) % n);
  CHECK(memory[1] == n);
  std::int64_t got = 0;
  MPI_Get(&got, 1, MPI_INT64_T, next, last, 1, MPI_INT64_T, win);
  MPI_Win_flush(next, win);
  CHECK(got == value);
  MPI_Win_unlock_all(win);
  // Where a rank reaches another's memory at all it does so by loads and stores.
  MPI_Aint size = 0;
  int unit = 0;
  std::int64_t* theirs = nullptr;
  CHECK(MPI_Win_shared_query(win, next, &size, &unit, &theirs) == MPI_SUCCESS);
  if (theirs && n > 1) CHECK(theirs[last] == value && size == (last + 1) * 8);
  CHECK(MPI_Win_free(&win) == MPI_SUCCESS);
  return check::finish();
}
