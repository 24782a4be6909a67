// SPDX-License-Identifier: BSD-3-Clause
// ranks: 6
// MPIX_Comm_agree and MPIX_Comm_shrink, in the background too, on an inter-communicator too, while ranks die.
#include <mpi.h>
#include <signal.h>

#include "mpi/check.hpp"

namespace {

using check::class_of;

int size_of(MPI_Comm c) {
  int n = -1;
  MPI_Comm_size(c, &n);
  return n;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const MPI_Comm w = MPI_COMM_WORLD;
  int rank;
  MPI_Comm_rank(w, &rank);
  MPI_Comm_set_errhandler(w, MPI_ERRORS_RETURN);

  int flag = ~(1 << rank);
  CHECK(MPIX_Comm_agree(w, &flag) == MPI_SUCCESS && flag == ~63);
  // Two at once, and a blocking one behind them.
  int a = rank == 3 ? 5 : 7, b = 12 | rank, c = 1;
  MPI_Request r[2];
  MPIX_Comm_iagree(w, &a, &r[0]);
  MPIX_Comm_iagree(w, &b, &r[1]);
  CHECK(MPIX_Comm_agree(w, &c) == MPI_SUCCESS && c == 1);
  CHECK(MPI_Waitall(2, r, MPI_STATUSES_IGNORE) == MPI_SUCCESS && a == 5 && b == 12);

  // The sides of an inter-communicator hear of each other's flags.
  MPI_Comm half, inter, whole;
  MPI_Comm_split(w, rank % 2, rank, &half);
  MPI_Intercomm_create(half, 0, w, rank % 2 == 0 ? 1 : 0, 3, &inter);
  flag = rank % 2 == 0 ? 6 : 3;
  CHECK(MPIX_Comm_agree(inter, &flag) == MPI_SUCCESS && flag == (rank % 2 == 0 ? 3 : 6));

  // The root of the agreements dies before them, another one in the middle of one.
  if (rank == 0) raise(SIGKILL);
  flag = 3;
  CHECK(class_of(MPIX_Comm_agree(w, &flag)) == MPIX_ERR_PROC_FAILED && flag == 3);
  CHECK(MPIX_Comm_failure_ack(w) == MPI_SUCCESS);
  flag = rank == 5 ? 1 : 3;
  CHECK(MPIX_Comm_agree(w, &flag) == MPI_SUCCESS && flag == 1);  // all have acknowledged
  MPI_Comm_dup(half, &whole);                                    // of those on the odd side all live
  if (rank == 1) {
    MPIX_Comm_iagree(w, &flag, &r[0]);
    raise(SIGKILL);
  }
  flag = 9;
  const int code = class_of(MPIX_Comm_agree(w, &flag));
  CHECK((code == MPI_SUCCESS || code == MPIX_ERR_PROC_FAILED) && (flag & ~9) == 0);

  MPI_Comm small, smaller;
  MPI_Request s;
  CHECK(MPIX_Comm_ishrink(w, &small, &s) == MPI_SUCCESS && MPI_Wait(&s, MPI_STATUS_IGNORE) == MPI_SUCCESS);
  CHECK(size_of(small) == 4);
  int sum = 0;
  CHECK(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, small) == MPI_SUCCESS && sum == 2 + 3 + 4 + 5);
  CHECK(MPIX_Comm_shrink(inter, &smaller) == MPI_SUCCESS && size_of(smaller) == 2);
  int remote = 0;
  CHECK(MPI_Comm_remote_size(smaller, &remote) == MPI_SUCCESS && remote == 2);
  int theirs = -1;
  const int me = rank / 2 - 1;  // in my half of those that live
  CHECK(MPI_Sendrecv(&rank, 1, MPI_INT, me, 0, &theirs, 1, MPI_INT, me, 0, smaller, MPI_STATUS_IGNORE) == MPI_SUCCESS);
  CHECK(theirs == (rank % 2 == 0 ? rank + 1 : rank - 1));
  // What is made of it works like any other.
  MPI_Comm dup;
  CHECK(MPI_Comm_dup(small, &dup) == MPI_SUCCESS && MPI_Barrier(dup) == MPI_SUCCESS);
  MPI_Comm_free(&dup);
  MPI_Comm_free(&smaller);
  MPI_Comm_free(&small);
  return check::finish();
}
