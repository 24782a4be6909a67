// SPDX-License-Identifier: BSD-3-Clause
// ranks: 4
// What stands between the epochs of different ranks: a copy at once does not come before short operations of the epoch
// before; and those who have come out of MPI_Win_lock_all may count on each other, though a writer has queued up since.
#include <unistd.h>

#include <cstring>

#include "win_test.hpp"

namespace {

constexpr int kLong = 4096;  // longs: enough to be copied at once

// Two ranks: the other is in its fence already when the short put comes, and leaves it late, if it gets no CPU.
void fence_then_copy(bool puts) {
  const int rank = check::rank();
  MPI_Comm pair;
  MPI_Comm_split(MPI_COMM_WORLD, rank / 2, rank, &pair);
  const bool origin = check::rank(pair) == 0;
  {
    LongWindow w(MPI_WIN_FLAVOR_CREATE, kLong, pair);
    std::vector<long> shorts(8, 1), all(kLong, 2);
    for (int round = 0; round < 10; ++round) {
      std::memset(w.memory, 0, kLong * sizeof(long));
      MPI_Win_fence(0, w.win);
      if (origin) {
        usleep(5000);
        MPI_Put(shorts.data(), 8, MPI_LONG, 1, 0, 8, MPI_LONG, w.win);
      }
      MPI_Win_fence(0, w.win);
      std::vector<long> got(kLong, 9);
      if (origin && puts) MPI_Put(all.data(), kLong, MPI_LONG, 1, 0, kLong, MPI_LONG, w.win);
      if (origin && !puts) MPI_Get(got.data(), kLong, MPI_LONG, 1, 0, kLong, MPI_LONG, w.win);
      MPI_Win_fence(0, w.win);
      if (origin && !puts) CHECK(got[0] == 1 && got[7] == 1 && got[8] == 0 && got[kLong - 1] == 0);
      if (!origin && puts) CHECK(w.memory[0] == 2 && w.memory[7] == 2 && w.memory[kLong - 1] == 2);
      MPI_Barrier(pair);
    }
  }
  MPI_Comm_free(&pair);
}

void put(const LongWindow& w, int target, int place) {
  const long one = 1;
  MPI_Put(&one, 1, MPI_LONG, target, place, 1, MPI_LONG, w.win);
  MPI_Win_flush(target, w.win);
}

// Ranks 0 and 1 are in an epoch of lock_all; rank 2 asks for rank 3 alone after the one has been there, and before the
// other comes, for whom the one waits.
void readers_wait_for_each_other(int flavor) {
  LongWindow w(flavor, 4);
  const int rank = check::rank();
  if (rank < 2) MPI_Win_lock_all(0, w.win);
  if (rank == 0) put(w, 3, 0);
  MPI_Barrier(MPI_COMM_WORLD);
  int token = 0;
  if (rank == 2) {
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 3, 0, w.win);
    put(w, 3, 2);
    MPI_Win_unlock(3, w.win);
  } else if (rank == 1) {
    usleep(50000);
    put(w, 3, 1);
    MPI_Send(&token, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
  } else if (rank == 0) {
    MPI_Recv(&token, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  if (rank < 2) MPI_Win_unlock_all(w.win);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 3) {
    MPI_Win_lock(MPI_LOCK_SHARED, 3, 0, w.win);
    CHECK(w.memory[0] == 1 && w.memory[1] == 1 && w.memory[2] == 1);
    MPI_Win_unlock(3, w.win);
  }
}

// Two in lock_all go to the same two targets in opposite order, each of which locks itself alone meanwhile.
void readers_cross(int flavor) {
  LongWindow w(flavor, 4);
  const int rank = check::rank();
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank < 2) {
    MPI_Win_lock_all(0, w.win);
    put(w, 2 + rank, rank);
    usleep(60000);
    put(w, 3 - rank, rank);
    MPI_Win_unlock_all(w.win);
  } else {
    usleep(30000);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, w.win);
    ++w.memory[3];
    MPI_Win_unlock(rank, w.win);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank >= 2) {
    MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, w.win);
    CHECK(w.memory[0] == 1 && w.memory[1] == 1 && w.memory[3] == 1);
    MPI_Win_unlock(rank, w.win);
  }
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  fence_then_copy(false);
  fence_then_copy(true);
  for (const int flavor : kFlavors) {
    readers_wait_for_each_other(flavor);
    readers_cross(flavor);
  }
  return check::finish();
}
