// SPDX-License-Identifier: BSD-3-Clause
// ranks: 3
// A program without standard streams: the library takes none of their numbers for itself. By both methods.
#include <unistd.h>

#include <cerrno>
#include <vector>

#include "check.hpp"

namespace {

int failures_of(int fd) {
  char byte = 'J';
  const bool written = ::write(fd, &byte, 1) != -1 || errno != EBADF;
  const bool got = ::read(fd, &byte, 1) != -1 || errno != EBADF;
  return written + got;
}

}  // namespace

int main(int argc, char** argv) {
  for (int fd = 0; fd <= 2; ++fd) ::close(fd);
  MPI_Init(&argc, &argv);
  const int me = check::rank(), n = check::size();
  std::vector<int> out(100'000, me), in(out.size());
  int taken = 0;
  for (int round = 0; round < 3; ++round) {
    for (int fd = 0; fd <= 2; ++fd) taken += failures_of(fd);
    MPI_Win win;
    int* memory;
    MPI_Win_allocate(4096, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    MPI_Sendrecv(out.data(), static_cast<int>(out.size()), MPI_INT, (me + 1) % n, 0, in.data(),
                 static_cast<int>(in.size()), MPI_INT, (me + n - 1) % n, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    taken += in.back() != (me + n - 1) % n;
    MPI_Win_free(&win);
  }
  MPI_Finalize();
  return taken;
}
