// SPDX-License-Identifier: BSD-3-Clause
// ranks: 2
// Short messages of all lengths that come on a communicator after it has been revoked are forgotten, whichever way they
// come in, as those that had come before: none is kept, and their credit returns, so that there is room for others.
#include <mpi.h>

#include <vector>

#include "mpi/check.hpp"

namespace {

unsigned long long kept() {
  int level, index, count;
  unsigned long long value = 0;
  MPI_T_pvar_session session;
  MPI_T_pvar_handle handle;
  MPI_T_init_thread(0, &level);
  CHECK(MPI_T_pvar_get_index("rmq_unexpected_queue_length", MPI_T_PVAR_CLASS_LEVEL, &index) == MPI_SUCCESS);
  MPI_T_pvar_session_create(&session);
  MPI_T_pvar_handle_alloc(session, index, nullptr, &handle, &count);
  MPI_T_pvar_read(session, handle, &value);
  MPI_T_pvar_handle_free(session, &handle);
  MPI_T_pvar_session_free(&session);
  MPI_T_finalize();
  return value;
}

/// Rank 1 sends without looking whether the communicator is revoked, which rank 0 does at the same time.
void round(int bytes) {
  constexpr int kMessages = 40;
  MPI_Comm c;
  MPI_Comm_dup(MPI_COMM_WORLD, &c);
  MPI_Comm_set_errhandler(c, MPI_ERRORS_RETURN);
  MPI_Barrier(MPI_COMM_WORLD);
  char said = 0;
  if (check::rank() == 0) {
    CHECK(MPIX_Comm_revoke(c) == MPI_SUCCESS);
    // Behind all that has left, or was taken back.
    MPI_Recv(&said, 1, MPI_CHAR, 1, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(kept() == 0);
  } else {
    const std::vector<char> data(static_cast<std::size_t>(bytes));
    std::vector<MPI_Request> requests(kMessages, MPI_REQUEST_NULL);
    for (MPI_Request& r : requests) {
      const int error = MPI_Isend(data.data(), bytes, MPI_BYTE, 0, 1, c, &r);
      CHECK(error == MPI_SUCCESS || check::class_of(error) == MPIX_ERR_REVOKED);
    }
    MPI_Waitall(kMessages, requests.data(), MPI_STATUSES_IGNORE);
    MPI_Send(&said, 1, MPI_CHAR, 0, 5, MPI_COMM_WORLD);
  }
  MPI_Comm_free(&c);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  for (int i = 0; i < 8; ++i)
    for (const int bytes : {0, 100, 4000, 9000, 20000, 60000}) round(bytes);
  return check::finish();
}
