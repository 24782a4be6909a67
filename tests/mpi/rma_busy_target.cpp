// SPDX-License-Identifier: BSD-3-Clause
// ranks: 2
// A target that calls no MPI function while others lock its window, put, get and accumulate: it computes until what
// they do has made it stop, so that a job in which nobody serves the window does not end.
#include <atomic>

#include "win_test.hpp"

namespace {

void busy(int flavor) {
  constexpr int kRounds = 50;
  LongWindow w(flavor, 3);
  MPI_Barrier(MPI_COMM_WORLD);
  if (check::rank() == 0) {
    // Acquire: what was put before the last round's accumulate is seen after it.
    while (std::atomic_ref(w.memory[1]).load(std::memory_order_acquire) < kRounds) {
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, w.win);
    CHECK(w.memory[0] == kRounds);
    MPI_Win_unlock(0, w.win);
    return;
  }
  const long one = 1;
  for (long i = 1; i <= kRounds; ++i) {
    long seen = -1, old = -1;
    MPI_Win_lock(i % 2 ? MPI_LOCK_EXCLUSIVE : MPI_LOCK_SHARED, 0, 0, w.win);
    MPI_Put(&i, 1, MPI_LONG, 0, 0, 1, MPI_LONG, w.win);
    MPI_Win_flush(0, w.win);
    MPI_Get(&seen, 1, MPI_LONG, 0, 0, 1, MPI_LONG, w.win);
    MPI_Fetch_and_op(&one, &old, MPI_LONG, 0, 2, MPI_SUM, w.win);
    MPI_Win_flush(0, w.win);
    CHECK(seen == i && old == i - 1);
    MPI_Accumulate(&one, 1, MPI_LONG, 0, 1, 1, MPI_LONG, MPI_SUM, w.win);
    MPI_Win_unlock(0, w.win);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  for (const int flavor : kFlavors) busy(flavor);
  return check::finish();
}
