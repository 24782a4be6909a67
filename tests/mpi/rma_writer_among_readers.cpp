// SPDX-License-Identifier: BSD-3-Clause
// ranks: 8
// Readers that poll what only a writer can change, each under a shared lock of its own, do not keep the writer out.
#include "win_test.hpp"

namespace {

constexpr long kRounds = 50;

// All but the owner and the writer read until they have seen the last round; the writer writes one after the other.
void poll_while_one_writes(int flavor, int writer) {
  LongWindow w(flavor, 1);
  const int rank = check::rank();
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == writer) {
    for (long round = 1; round <= kRounds; ++round) {
      MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, w.win);
      MPI_Put(&round, 1, MPI_LONG, 0, 0, 1, MPI_LONG, w.win);
      MPI_Win_unlock(0, w.win);
    }
  } else if (rank != 0) {
    for (long seen = 0, before = 0; seen != kRounds; before = seen) {
      MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, w.win);
      MPI_Get(&seen, 1, MPI_LONG, 0, 0, 1, MPI_LONG, w.win);
      MPI_Win_flush(0, w.win);
      MPI_Win_unlock(0, w.win);
      CHECK(seen >= before);
    }
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  for (const int flavor : kFlavors) {
    poll_while_one_writes(flavor, 1);
    poll_while_one_writes(flavor, check::size() - 1);
  }
  return check::finish();
}
