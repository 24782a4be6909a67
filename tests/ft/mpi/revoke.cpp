// SPDX-License-Identifier: BSD-3-Clause
// ranks: 5
// A communicator that is revoked ends whatever is under way on it, at all members, whoever has revoked it.
#include <mpi.h>
#include <signal.h>

#include <vector>

#include "mpi/check.hpp"

namespace {

using check::class_of;

// What this rank waits in when rank 0 revokes: each in something else.
int wait_in(int rank, MPI_Comm c, std::vector<int>& much) {
  int x, n = 0;
  MPI_Request r[2];
  const int most = static_cast<int>(much.size());
  switch (rank) {
    case 1:
      return MPI_Recv(&x, 1, MPI_INT, 0, 1, c, MPI_STATUS_IGNORE);
    case 2:
      return MPI_Send(much.data(), most, MPI_INT, 0, 2, c);
    case 3:
      return MPI_Probe(MPI_ANY_SOURCE, 3, c, MPI_STATUS_IGNORE);
    default:
      MPI_Irecv(&x, 1, MPI_INT, MPI_ANY_SOURCE, 4, c, &r[0]);
      MPI_Issend(&n, 1, MPI_INT, 1, 44, c, &r[1]);
      MPI_Status s[2];
      MPI_Waitall(2, r, s);
      CHECK(class_of(s[1].MPI_ERROR) == MPIX_ERR_REVOKED);
      return s[0].MPI_ERROR;
  }
}

void check_revoked(MPI_Comm c) {
  int x = 0, flag = 0;
  MPI_Request r;
  CHECK(MPIX_Comm_is_revoked(c, &flag) == MPI_SUCCESS && flag);
  CHECK(class_of(MPI_Send(&x, 1, MPI_INT, 1, 9, c)) == MPIX_ERR_REVOKED);
  CHECK(class_of(MPI_Isend(&x, 1, MPI_INT, 1, 9, c, &r)) == MPIX_ERR_REVOKED);
  CHECK(class_of(MPI_Recv(&x, 1, MPI_INT, MPI_ANY_SOURCE, 9, c, MPI_STATUS_IGNORE)) == MPIX_ERR_REVOKED);
  CHECK(class_of(MPI_Iprobe(1, 9, c, &flag, MPI_STATUS_IGNORE)) == MPIX_ERR_REVOKED);
  CHECK(class_of(MPI_Sendrecv(&x, 1, MPI_INT, MPI_PROC_NULL, 1, &x, 1, MPI_INT, MPI_PROC_NULL, 1, c,
                              MPI_STATUS_IGNORE)) == MPIX_ERR_REVOKED);
  CHECK(class_of(MPI_Barrier(c)) == MPIX_ERR_REVOKED);
  CHECK(class_of(MPI_Ibarrier(c, &r)) == MPIX_ERR_REVOKED);
  MPI_Comm d;
  CHECK(class_of(MPI_Comm_dup(c, &d)) == MPIX_ERR_REVOKED);
  char name[MPI_MAX_OBJECT_NAME];
  int n;
  CHECK(MPI_Comm_get_name(c, name, &n) == MPI_SUCCESS && MPI_Comm_size(c, &n) == MPI_SUCCESS);  // local
}

// A barrier, at the board after a few, that not all come to.
void interrupt_collective(MPI_Comm world, int rank) {
  MPI_Comm c;
  MPI_Comm_dup(world, &c);
  for (int i = 0; i < 6; ++i) {
    const int code = MPI_Barrier(c);  // rank 0 may be out of the last one, and have revoked
    CHECK(code == MPI_SUCCESS || (i == 5 && class_of(code) == MPIX_ERR_REVOKED));
  }
  MPI_Request early = MPI_REQUEST_NULL;
  MPI_Ibarrier(c, &early);
  if (rank == 0) {
    MPI_Recv(nullptr, 0, MPI_INT, 1, 7, world, MPI_STATUS_IGNORE);
    MPIX_Comm_revoke(c);
    MPI_Wait(&early, MPI_STATUS_IGNORE);
  } else {
    if (rank == 1) MPI_Send(nullptr, 0, MPI_INT, 0, 7, world);
    MPI_Wait(&early, MPI_STATUS_IGNORE);  // well or not: it may have been over
    CHECK(class_of(MPI_Barrier(c)) == MPIX_ERR_REVOKED);
  }
  MPI_Comm_free(&c);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  std::vector<int> much(1 << 18, 5);
  MPI_Comm c, small;
  MPI_Comm_dup(MPI_COMM_WORLD, &c);
  if (rank == 0) {
    // All the others have come: their messages on another communicator say so, and these are all that they send here.
    for (int i = 1; i < 5; ++i) MPI_Recv(nullptr, 0, MPI_INT, i, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(MPIX_Comm_revoke(c) == MPI_SUCCESS);
    CHECK(MPIX_Comm_revoke(c) == MPI_SUCCESS);
  } else {
    MPI_Send(nullptr, 0, MPI_INT, 0, 0, MPI_COMM_WORLD);
    CHECK(class_of(wait_in(rank, c, much)) == MPIX_ERR_REVOKED);
  }
  check_revoked(c);
  // It serves to agree and to shrink still.
  int flag = 0xff ^ (1 << rank);
  CHECK(MPIX_Comm_agree(c, &flag) == MPI_SUCCESS && flag == 0xe0);
  CHECK(MPIX_Comm_shrink(c, &small) == MPI_SUCCESS);
  MPI_Comm_size(small, &size);
  CHECK(size == 5 && MPI_Barrier(small) == MPI_SUCCESS);
  MPI_Comm_free(&c);
  interrupt_collective(MPI_COMM_WORLD, rank);

  // The revoker dies at once.
  MPI_Comm_dup(MPI_COMM_WORLD, &c);
  if (rank == 4) {
    MPIX_Comm_revoke(c);
    raise(SIGKILL);
  }
  // Some may have heard of it, and tell the others; or nobody has, and the death is all that they see.
  int x, y, index;
  MPI_Request r[2];
  if (MPI_Irecv(&x, 1, MPI_INT, (rank + 1) % 4, 8, c, &r[0]) == MPI_SUCCESS &&
      MPI_Irecv(&y, 1, MPI_INT, 4, 8, c, &r[1]) == MPI_SUCCESS) {  // else it has heard of it already
    const int code = class_of(MPI_Waitany(2, r, &index, MPI_STATUS_IGNORE));
    if (code == MPIX_ERR_PROC_FAILED && index == 1) MPIX_Comm_revoke(c);
    CHECK(code == MPIX_ERR_REVOKED || (code == MPIX_ERR_PROC_FAILED && index == 1));
    CHECK(index == 0 || class_of(MPI_Wait(&r[0], MPI_STATUS_IGNORE)) == MPIX_ERR_REVOKED);
    CHECK(index == 1 || class_of(MPI_Wait(&r[1], MPI_STATUS_IGNORE)) != MPI_SUCCESS);
  }
  MPI_Comm next;
  CHECK(MPIX_Comm_shrink(c, &next) == MPI_SUCCESS);
  MPI_Comm_size(next, &size);
  CHECK(size == 4 && MPI_Barrier(next) == MPI_SUCCESS);
  MPI_Comm_free(&next);
  MPI_Comm_free(&c);
  MPI_Comm_free(&small);
  return check::finish();
}
