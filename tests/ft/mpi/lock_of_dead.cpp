// SPDX-License-Identifier: BSD-3-Clause
// ranks: 4
// Who waits, by a get, for a lock of a living rank's that a dead one held is told of the dead one.
#include <mpi.h>
#include <signal.h>
#include <unistd.h>

#include <string>

#include "mpi/check.hpp"

namespace {

/// Rank 1 dies with the lock of rank 0, for which rank 3 waits.
void check_told(MPI_Win win) {
  int x = 0;
  if (check::rank() == 1) {
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
    MPI_Put(&x, 1, MPI_INT, 0, 0, 1, MPI_INT, win);
    MPI_Win_flush(0, win);
    MPI_Send(nullptr, 0, MPI_INT, 3, 1, MPI_COMM_WORLD);
    usleep(50'000);  // rank 3 waits by now, most probably
    raise(SIGKILL);
  }
  if (check::rank() != 3) return;
  MPI_Recv(nullptr, 0, MPI_INT, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  int code = MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
  if (code == MPI_SUCCESS) {
    MPI_Get(&x, 1, MPI_INT, 0, 0, 1, MPI_INT, win);
    code = MPI_Win_flush(0, win);
  }
  if (code == MPI_SUCCESS) return;  // the target has known who had asked it for the lock: it is free again
  CHECK(check::class_of(code) == MPIX_ERR_PROC_FAILED);
  char text[MPI_MAX_ERROR_STRING];
  int length;
  MPI_Error_string(code, text, &length);
  if (std::string(text).find("rank 1 is lost") == std::string::npos) {
    std::fprintf(stderr, "%s\n", text);
    CHECK(!"told of another rank");
  }
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int* memory;
  MPI_Win win;
  MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
  MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
  check_told(win);
  // The window's memory is there until then.
  if (check::rank() == 3) MPI_Send(nullptr, 0, MPI_INT, 0, 2, MPI_COMM_WORLD);
  if (check::rank() == 0) MPI_Recv(nullptr, 0, MPI_INT, 3, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  return check::finish();
}
