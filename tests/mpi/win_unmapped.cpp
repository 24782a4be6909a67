// SPDX-License-Identifier: BSD-3-Clause
// ranks: 3
// A shared window that one rank alone cannot map, for its address space is limited: all ranks get the error, and go on.
#include <sys/resource.h>

#include <fstream>
#include <string>

#include "win_test.hpp"

namespace {

constexpr MPI_Aint kLarge = MPI_Aint{64} << 20;  // bytes

rlim_t address_space_in_use() {
  rlim_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * 4096;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm host;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
  int size, rank;
  MPI_Comm_size(host, &size);
  MPI_Comm_rank(host, &rank);
  rlimit before{};
  ::getrlimit(RLIMIT_AS, &before);
  if (size > 1 && rank == size - 1) {
    rlimit tight = before;
    tight.rlim_cur = address_space_in_use() + kLarge / 2;
    CHECK(::setrlimit(RLIMIT_AS, &tight) == 0);
  }
  long* memory = nullptr;
  MPI_Win win = MPI_WIN_NULL;
  const int made = MPI_Win_allocate_shared(rank == 0 ? kLarge : 0, 1, MPI_INFO_NULL, host, &memory, &win);
  ::setrlimit(RLIMIT_AS, &before);
  if (size > 1) {
    CHECK_CLASS(made, MPI_ERR_NO_MEM);
    if (made == MPI_SUCCESS) MPI_Win_free(&win);
    // All are still in step.
    int sum = 0;
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, host);
    CHECK(sum == size * (size - 1) / 2);
    CHECK(MPI_Win_allocate_shared(8, 1, MPI_INFO_NULL, host, &memory, &win) == MPI_SUCCESS);
  }
  MPI_Win_free(&win);
  MPI_Comm_free(&host);
  return check::finish();
}
