// ranks: 4
// Shared windows: one run of memory or pieces, queries, load and store beside one-sided operations. Where the ranks
// share no memory, making one is an error that leaves everything else usable.
#include <cstring>

#include "win_test.hpp"

namespace {

void use(bool contiguous) {
  const int n = check::size(), me = check::rank(), right = (me + 1) % n;
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "alloc_shared_noncontig", contiguous ? "false" : "true");
  long* mine = nullptr;
  MPI_Win win;
  const MPI_Aint bytes = static_cast<MPI_Aint>(sizeof(long)) * 10 * me;  // the first brings nothing
  const int made = MPI_Win_allocate_shared(bytes, sizeof(long), info, MPI_COMM_WORLD, &mine, &win);
  MPI_Info_free(&info);
  if (made != MPI_SUCCESS) {
    CHECK_CLASS(made, MPI_ERR_RMA_SHARED);
    return;
  }
  std::vector<long*> of(static_cast<std::size_t>(n));
  for (int i = 0; i < n; ++i) {
    MPI_Aint size = -1;
    int unit = 0;
    MPI_Win_shared_query(win, i, &size, &unit, &of[static_cast<std::size_t>(i)]);
    CHECK(size == static_cast<MPI_Aint>(sizeof(long)) * 10 * i && unit == sizeof(long));
    if (contiguous && i > 1)
      CHECK(of[static_cast<std::size_t>(i)] == of[static_cast<std::size_t>(i - 1)] + 10 * (i - 1));
  }
  CHECK(of[0] == nullptr);
  CHECK(of[static_cast<std::size_t>(me)] == mine || me == 0);
  MPI_Aint size;
  int unit;
  long* first;
  MPI_Win_shared_query(win, MPI_PROC_NULL, &size, &unit, &first);
  CHECK(first == of[1] && size == 80);

  MPI_Win_lock_all(0, win);
  if (right != 0) of[static_cast<std::size_t>(right)][3] = 100 + me;
  MPI_Win_sync(win);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_sync(win);
  if (me != 0) CHECK(mine[3] == 100 + me - 1);
  const long one = 1;
  for (int i = 1; i < n; ++i) MPI_Accumulate(&one, 1, MPI_LONG, i, 4, 1, MPI_LONG, MPI_SUM, win);
  MPI_Win_flush_all(win);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_sync(win);
  if (me != 0) CHECK(mine[4] == n);
  MPI_Win_unlock_all(win);
  MPI_Win_free(&win);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  use(true);
  use(false);
  long* memory;
  MPI_Win win;
  CHECK(MPI_Win_allocate_shared(8, 8, MPI_INFO_NULL, MPI_COMM_SELF, &memory, &win) == MPI_SUCCESS);
  *memory = 4;
  CHECK(MPI_Win_free(&win) == MPI_SUCCESS);
  return check::finish();
}
