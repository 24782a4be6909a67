// SPDX-License-Identifier: BSD-3-Clause
// ranks: 4
// Whoever calls nothing but the local functions that tell of deaths and revocations hears of them; partitioned requests
// and inter-communicators of a revoked communicator tell that it is.
#include <mpi.h>
#include <signal.h>
#include <unistd.h>

#include <functional>
#include <vector>

#include "mpi/check.hpp"

namespace {

using check::class_of;

bool comes(const std::function<bool()>& there) {
  for (int i = 0; i < 100000; ++i) {
    if (there()) return true;
    usleep(100);
  }
  return false;
}

int size_of(MPI_Group group) {
  int size = 0;
  MPI_Group_size(group, &size);
  MPI_Group_free(&group);
  return size;
}

/// Partitioned requests that were made before it was revoked, some of them active.
void check_partitioned(int rank) {
  MPI_Comm c;
  MPI_Comm_dup(MPI_COMM_WORLD, &c);
  std::vector<int> data(40000);
  MPI_Request all[4];
  for (int i = 0; i < 4; ++i) {
    if (rank % 2 == 0)
      MPI_Psend_init(data.data(), 10, 1000, MPI_INT, rank + 1, i, c, MPI_INFO_NULL, &all[i]);
    else
      MPI_Precv_init(data.data() + 10000 * i, 10, 1000, MPI_INT, rank - 1, i, c, MPI_INFO_NULL, &all[i]);
  }
  MPI_Start(&all[0]);  // is complete before
  for (int part = 0; rank % 2 == 0 && part < 10; ++part) MPI_Pready(part, all[0]);
  CHECK(MPI_Wait(&all[0], MPI_STATUS_IGNORE) == MPI_SUCCESS);
  MPI_Start(&all[1]);  // active at both ends, but nothing is ready
  MPI_Barrier(c);
  MPIX_Comm_revoke(c);
  for (int part = 0; rank % 2 == 0 && part < 10; ++part) MPI_Pready(part, all[1]);
  CHECK(class_of(MPI_Wait(&all[1], MPI_STATUS_IGNORE)) == MPIX_ERR_REVOKED);
  CHECK(class_of(MPI_Start(&all[0])) == MPIX_ERR_REVOKED);
  CHECK(class_of(MPI_Start(&all[2])) == MPIX_ERR_REVOKED);
  for (MPI_Request& one : all) MPI_Request_free(&one);

  MPI_Comm inter;
  CHECK(class_of(MPI_Intercomm_create(MPI_COMM_SELF, 0, c, rank ^ 1, 7, &inter)) == MPIX_ERR_REVOKED);
  MPI_Comm_free(&c);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  // Contexts that have been revoked serve again.
  for (int i = 0; i < 3; ++i) check_partitioned(rank);

  MPI_Comm revoked;
  MPI_Comm_dup(MPI_COMM_WORLD, &revoked);
  if (rank == 0) {
    MPIX_Comm_revoke(revoked);
    // All have heard it.
    for (int i = 1; i < 4; ++i) MPI_Recv(nullptr, 0, MPI_INT, i, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    raise(SIGKILL);
  }
  int flag = 0;
  CHECK(comes([&] { return MPIX_Comm_is_revoked(revoked, &flag) == MPI_SUCCESS && flag; }));
  MPI_Send(nullptr, 0, MPI_INT, 0, 0, MPI_COMM_WORLD);
  MPI_Group failed;
  if (rank == 1)
    CHECK(comes([&] { return MPIX_Comm_get_failed(MPI_COMM_WORLD, &failed) == MPI_SUCCESS && size_of(failed) == 1; }));
  if (rank == 2)
    CHECK(comes([&] { return MPIX_Comm_ack_failed(MPI_COMM_WORLD, 1, &flag) == MPI_SUCCESS && flag == 1; }));
  if (rank == 3)
    CHECK(comes([&] {
      MPIX_Comm_failure_ack(MPI_COMM_WORLD);
      return MPIX_Comm_failure_get_acked(MPI_COMM_WORLD, &failed) == MPI_SUCCESS && size_of(failed) == 1;
    }));
  MPI_Comm_free(&revoked);
  return check::finish();
}
