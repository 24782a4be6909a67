// SPDX-License-Identifier: BSD-3-Clause
// ranks: 4
// Inter-communicators: a barrier fails at all when a member of either side has died before it came, whether that was
// the one who speaks to the other side or not. A revoked peer communicator fails MPI_Intercomm_create as such, and is
// freed without a word about messages that nobody could receive any more.
#include <mpi.h>
#include <signal.h>

#include <vector>

#include "mpi/check.hpp"

namespace {

using check::class_of;

MPI_Comm make_inter(MPI_Comm all, MPI_Comm* local) {
  const int rank = check::rank(all);
  MPI_Comm inter;
  MPI_Comm_split(all, rank % 2, rank, local);
  CHECK(MPI_Intercomm_create(*local, 0, all, 1 - rank % 2, 5, &inter) == MPI_SUCCESS);
  MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN);
  return inter;
}

/// The member `victim` dies before a barrier.
void lose(MPI_Comm& all, int victim, bool in_background) {
  MPI_Comm local, left;
  MPI_Comm inter = make_inter(all, &local);
  MPI_Barrier(all);
  if (check::rank(all) == victim) raise(SIGKILL);
  MPI_Request r = MPI_REQUEST_NULL;
  int code = in_background ? MPI_Ibarrier(inter, &r) : MPI_Barrier(inter);
  if (in_background && code == MPI_SUCCESS) code = MPI_Wait(&r, MPI_STATUS_IGNORE);
  CHECK(class_of(code) == MPIX_ERR_PROC_FAILED);
  MPIX_Comm_revoke(all);
  CHECK(MPIX_Comm_shrink(all, &left) == MPI_SUCCESS);
  MPI_Comm_free(&inter);
  MPI_Comm_free(&local);
  MPI_Comm_free(&all);
  all = left;
}

void use_revoked(MPI_Comm all) {
  const int rank = check::rank(all), size = check::size(all);
  std::vector<char> much(300'000);
  MPI_Comm c, local, inter = MPI_COMM_NULL;
  MPI_Comm_dup(all, &c);
  MPI_Comm_split(all, rank % 2, rank, &local);
  MPI_Request r;
  MPI_Isend(much.data(), static_cast<int>(much.size()), MPI_CHAR, (rank + 1) % size, 2, c, &r);
  MPI_Barrier(all);
  MPIX_Comm_revoke(c);
  int flag = 0;
  while (!flag) MPIX_Comm_is_revoked(c, &flag);
  const int leader = check::rank(local) == 0;
  const int error = class_of(MPI_Intercomm_create(local, 0, c, 1 - rank % 2, 6, &inter));
  CHECK(leader ? error == MPIX_ERR_REVOKED : error != MPI_SUCCESS && error != MPIX_ERR_PROC_FAILED);
  CHECK(MPI_Comm_free(&c) == MPI_SUCCESS);
  MPI_Wait(&r, MPI_STATUS_IGNORE);
  MPI_Comm_free(&local);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm all;
  MPI_Comm_dup(MPI_COMM_WORLD, &all);
  MPI_Comm_set_errhandler(all, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  use_revoked(all);
  lose(all, 3, false);
  lose(all, 0, true);
  MPI_Comm_free(&all);
  return check::finish();
}
