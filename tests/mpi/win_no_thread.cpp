// SPDX-License-Identifier: BSD-3-Clause
// ranks: 4
// A window whose rank is given no thread to serve it: others reach it while the rank is inside of calls.
#include <sys/resource.h>

#include <cstdio>

#include "check.hpp"

namespace {

// No room for the stack of a thread, until the end of its life.
class NoThreads {
 public:
  NoThreads() {
    ::getrlimit(RLIMIT_AS, &before_);
    rlimit now = before_;
    now.rlim_cur = in_use() + (rlim_t{2} << 20);
    CHECK(::setrlimit(RLIMIT_AS, &now) == 0);
  }
  ~NoThreads() { ::setrlimit(RLIMIT_AS, &before_); }
  NoThreads(const NoThreads&) = delete;
  NoThreads& operator=(const NoThreads&) = delete;

 private:
  static rlim_t in_use() {
    unsigned long pages = 0;
    std::FILE* file = std::fopen("/proc/self/statm", "r");
    CHECK(file && std::fscanf(file, "%lu", &pages) == 1);
    if (file) std::fclose(file);
    return rlim_t{pages} * 4096;
  }
  rlimit before_{};
};

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  static int counters[2];
  MPI_Win win;
  {
    const NoThreads none;
    CHECK(MPI_Win_create(counters, sizeof counters, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win) == MPI_SUCCESS);
  }
  for (int target = 0; target < check::size(); ++target) {
    const int one = 1;
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win);
    MPI_Accumulate(&one, 1, MPI_INT, target, 0, 1, MPI_INT, MPI_SUM, win);
    MPI_Win_unlock(target, win);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock(MPI_LOCK_SHARED, check::rank(), 0, win);
  CHECK(counters[0] == check::size());
  MPI_Win_unlock(check::rank(), win);
  MPI_Win_free(&win);
  return check::finish();
}
