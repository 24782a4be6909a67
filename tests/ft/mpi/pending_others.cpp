// SPDX-License-Identifier: BSD-3-Clause
// ranks: 3
// While a receive from any source is pending for a death that nobody has acknowledged, calls that say so get on with
// the other requests.
#include <mpi.h>
#include <signal.h>

#include "mpi/check.hpp"

namespace {

using check::class_of;

/// Until the request of the living rank, the second of two, is complete. A call that waits sees no more than that the
/// first is pending, time and again.
template <class Call>
void until_second_is_done(Call&& call) {
  int x, y;
  MPI_Request r[2];
  MPI_Irecv(&x, 1, MPI_INT, MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, &r[0]);
  MPI_Irecv(&y, 1, MPI_INT, 1, 3, MPI_COMM_WORLD, &r[1]);
  const double begun = MPI_Wtime();
  bool told = false;
  while (r[1] != MPI_REQUEST_NULL && MPI_Wtime() - begun < 10) {
    const bool pending = call(r);
    if (pending && !told) MPI_Send(nullptr, 0, MPI_INT, 1, 1, MPI_COMM_WORLD), told = true;
  }
  CHECK(told && r[1] == MPI_REQUEST_NULL && y == 7);
  MPI_Cancel(&r[0]);
  MPI_Wait(&r[0], MPI_STATUS_IGNORE);
}

bool is_pending(int code) {
  return code != MPI_SUCCESS && class_of(code) == MPIX_ERR_PROC_FAILED_PENDING;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  if (check::rank() == 2) raise(SIGKILL);
  constexpr int kCalls = 4;
  if (check::rank() == 1) {
    const int y = 7;
    for (int i = 0; i < kCalls; ++i) {
      MPI_Recv(nullptr, 0, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Send(&y, 1, MPI_INT, 0, 3, MPI_COMM_WORLD);
    }
  } else {
    int index, count, flag, indices[2];
    MPI_Status statuses[2];
    until_second_is_done([&](MPI_Request* r) { return is_pending(MPI_Waitany(2, r, &index, MPI_STATUS_IGNORE)); });
    until_second_is_done([&](MPI_Request* r) {
      const int code = MPI_Waitsome(2, r, &count, indices, statuses);
      return class_of(code) == MPI_ERR_IN_STATUS && is_pending(statuses[0].MPI_ERROR);
    });
    until_second_is_done(
        [&](MPI_Request* r) { return is_pending(MPI_Testany(2, r, &index, &flag, MPI_STATUS_IGNORE)); });
    until_second_is_done([&](MPI_Request* r) {
      const bool pending = is_pending(MPI_Wait(&r[0], MPI_STATUS_IGNORE));
      MPI_Request_get_status(r[1], &flag, MPI_STATUS_IGNORE);
      if (flag) MPI_Wait(&r[1], MPI_STATUS_IGNORE);
      return pending;
    });
  }
  return check::finish();
}
