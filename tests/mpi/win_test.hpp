// SPDX-License-Identifier: BSD-3-Clause
// What the tests of windows share: one of each flavour, over memory of the same shape.
#pragma once

#include <vector>

#include "check.hpp"

/// A window of `count` longs on every rank, counted in longs, with this rank's memory zeroed. Freed at the end of its
/// life, collectively.
class LongWindow {
 public:
  LongWindow(int flavor, int count, MPI_Comm comm = MPI_COMM_WORLD, MPI_Info info = MPI_INFO_NULL) {
    const MPI_Aint bytes = static_cast<MPI_Aint>(sizeof(long)) * count;
    if (flavor == MPI_WIN_FLAVOR_CREATE) {
      own_.resize(static_cast<std::size_t>(count));
      memory = own_.data();
      MPI_Win_create(memory, bytes, sizeof(long), info, comm, &win);
    } else {
      MPI_Win_allocate(bytes, sizeof(long), info, comm, &memory, &win);
    }
    for (int i = 0; i < count; ++i) memory[i] = 0;
    MPI_Barrier(comm);
  }
  LongWindow(const LongWindow&) = delete;
  LongWindow& operator=(const LongWindow&) = delete;
  ~LongWindow() { CHECK(MPI_Win_free(&win) == MPI_SUCCESS && win == MPI_WIN_NULL); }

  MPI_Win win = MPI_WIN_NULL;
  long* memory = nullptr;

 private:
  std::vector<long> own_;
};

inline constexpr int kFlavors[] = {MPI_WIN_FLAVOR_CREATE, MPI_WIN_FLAVOR_ALLOCATE};
