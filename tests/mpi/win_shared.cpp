// SPDX-License-Identifier: BSD-3-Clause
// ranks: 4
// Shared windows: one run of memory or pieces, queries, load and store beside one-sided operations. Where the ranks
// share no memory, making one is an error that leaves everything else usable.
#include <cstdlib>
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

/// Other windows over memory that the host's ranks share can be looked into as well.
void look_into(int flavor) {
  const int n = check::size(), me = check::rank(), right = (me + 1) % n;
  const char* methods = std::getenv("RMQ_METHODS");
  const bool shm = !methods || std::strstr(methods, "shm");
  MPI_Comm host;
  MPI_Group group, world;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
  MPI_Comm_group(host, &group);
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  long* memory = nullptr;
  MPI_Win win;
  const MPI_Aint bytes = static_cast<MPI_Aint>(sizeof(long)) * 2;
  if (flavor == MPI_WIN_FLAVOR_CREATE) {
    MPI_Alloc_mem(bytes, MPI_INFO_NULL, &memory);
    MPI_Win_create(memory, bytes, sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  } else {
    MPI_Win_allocate(bytes, sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
  }
  memory[0] = memory[1] = -1;
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock_all(0, win);
  for (int i = 0; i < n; ++i) {
    MPI_Aint size = -1;
    int unit = 0, place = MPI_UNDEFINED;
    long* theirs = nullptr;
    CHECK(MPI_Win_shared_query(win, i, &size, &unit, &theirs) == MPI_SUCCESS);
    MPI_Group_translate_ranks(world, 1, &i, group, &place);
    const bool near = i == me || (shm && place != MPI_UNDEFINED);
    CHECK(near ? size == bytes && theirs : size == 0 && !theirs);
    CHECK(unit == sizeof(long));
    CHECK(i != me || theirs == memory);
    if (i != right) continue;
    const long value = 100 + me;
    if (near)
      theirs[1] = value;
    else
      MPI_Put(&value, 1, MPI_LONG, right, 1, 1, MPI_LONG, win);
    MPI_Win_flush(right, win);
    MPI_Win_sync(win);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_sync(win);
  CHECK(memory[0] == -1 && memory[1] == 100 + (me + n - 1) % n);
  MPI_Win_unlock_all(win);
  MPI_Win_free(&win);
  if (flavor == MPI_WIN_FLAVOR_CREATE) MPI_Free_mem(memory);
  MPI_Group_free(&group);
  MPI_Group_free(&world);
  MPI_Comm_free(&host);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  use(true);
  use(false);
  for (const int flavor : kFlavors) look_into(flavor);
  long* memory;
  MPI_Win win;
  CHECK(MPI_Win_allocate_shared(8, 8, MPI_INFO_NULL, MPI_COMM_SELF, &memory, &win) == MPI_SUCCESS);
  *memory = 4;
  CHECK(MPI_Win_free(&win) == MPI_SUCCESS);
  return check::finish();
}
