// SPDX-License-Identifier: BSD-3-Clause
// ranks: 4
// The memory of a new window is zeros, though blocks of the same sizes have been written and freed before.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "check.hpp"

namespace {

void soil(std::size_t bytes) {
  char* memory = nullptr;
  MPI_Win win;
  MPI_Win_allocate(static_cast<MPI_Aint>(bytes), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
  std::memset(memory, 0x5a, bytes);
  MPI_Win_free(&win);
  std::vector<void*> blocks;
  for (std::size_t more = bytes; more <= bytes + 192; more += 16)
    blocks.push_back(std::memset(std::malloc(more), 0x5a, more));
  for (void* block : blocks) std::free(block);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rank = check::rank(), size = check::size();
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{96}, std::size_t{1000}, std::size_t{300000}}) {
    soil(bytes);
    char* memory = nullptr;
    MPI_Win win;
    CHECK(MPI_Win_allocate(static_cast<MPI_Aint>(bytes), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win) ==
          MPI_SUCCESS);
    CHECK(reinterpret_cast<std::uintptr_t>(memory) % 64 == 0);
    const auto zeros = [](const char* first, std::size_t n) {
      return std::all_of(first, first + n, [](char c) { return c == 0; });
    };
    CHECK(zeros(memory, bytes));
    // The others' too, before anybody has met anybody.
    std::vector<char> got(bytes, 1);
    const int other = (rank + 1) % size;
    MPI_Win_lock(MPI_LOCK_SHARED, other, 0, win);
    MPI_Get(got.data(), static_cast<int>(bytes), MPI_BYTE, other, 0, static_cast<int>(bytes), MPI_BYTE, win);
    MPI_Win_unlock(other, win);
    CHECK(zeros(got.data(), bytes));
    MPI_Win_free(&win);
  }
  return check::finish();
}
