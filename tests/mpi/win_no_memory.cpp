// SPDX-License-Identifier: BSD-3-Clause
// ranks: 4
// Shared windows that the machine has no memory for, sizes whose sum is none, and no descriptor left: an error in every
// rank, and no rank waits or dies. Windows that are made keep no descriptor.
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "check.hpp"

namespace {

void refuses(MPI_Aint bytes, const char* noncontiguous) {
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "alloc_shared_noncontig", noncontiguous);
  void* memory = nullptr;
  MPI_Win win = MPI_WIN_NULL;
  CHECK_CLASS(MPI_Win_allocate_shared(bytes, 1, info, MPI_COMM_WORLD, &memory, &win), MPI_ERR_NO_MEM);
  CHECK(win == MPI_WIN_NULL);
  MPI_Info_free(&info);
}

/// No descriptors but those that are open, and so many more.
void allow_descriptors(rlim_t more) {
  rlim_t end = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd"))
    end = std::max<rlim_t>(end, std::stoul(entry.path().filename()) + 1);
  rlimit limit;
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = std::min(end + more, limit.rlim_max);
  setrlimit(RLIMIT_NOFILE, &limit);
}

/// More windows than there are descriptors, and then none at all.
void descriptors() {
  MPI_Comm host;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
  MPI_Comm_set_errhandler(host, MPI_ERRORS_RETURN);
  long* memory = nullptr;
  std::vector<MPI_Win> wins(300, MPI_WIN_NULL);
  rlimit before;
  getrlimit(RLIMIT_NOFILE, &before);
  allow_descriptors(20);
  for (MPI_Win& win : wins) CHECK(MPI_Win_allocate_shared(8, 8, MPI_INFO_NULL, host, &memory, &win) == MPI_SUCCESS);
  std::vector<int> rest;
  for (int fd = 0; (fd = open("/dev/null", O_RDONLY)) >= 0;) rest.push_back(fd);
  MPI_Win win = MPI_WIN_NULL;
  const int code = MPI_Win_allocate_shared(8, 8, MPI_INFO_NULL, host, &memory, &win);
  CHECK_CLASS(code, MPI_ERR_NO_MEM);
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(code, text, &length);
  CHECK(std::string_view(text).find("ulimit -n") != std::string_view::npos);
  for (const int fd : rest) close(fd);
  setrlimit(RLIMIT_NOFILE, &before);
  for (MPI_Win& one : wins)
    if (one != MPI_WIN_NULL) MPI_Win_free(&one);
  MPI_Comm_free(&host);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  // However much the library asks for, it gets no more than this.
  std::signal(SIGXFSZ, SIG_IGN);
  const rlimit most = {rlim_t{1} << 30, RLIM_INFINITY};
  setrlimit(RLIMIT_FSIZE, &most);
  constexpr MPI_Aint kQuarter = MPI_Aint{1} << 62;  // of 2^64
  for (const char* noncontiguous : {"false", "true"}) {
    refuses(kQuarter, noncontiguous);
    refuses(INT64_MAX, noncontiguous);
    refuses(check::rank() == 0 ? INT64_MAX : INT64_MAX / 2, noncontiguous);
    refuses(MPI_Aint{1} << 50, noncontiguous);
    refuses(check::rank() == 2 ? MPI_Aint{1} << 50 : 8, noncontiguous);
  }
  long* memory = nullptr;
  MPI_Win win = MPI_WIN_NULL;
  const int made = MPI_Win_allocate_shared(8, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
  if (made != MPI_SUCCESS) CHECK_CLASS(made, MPI_ERR_RMA_SHARED);  // on several hosts
  if (made == MPI_SUCCESS) MPI_Win_free(&win);
  descriptors();
  return check::finish();
}
