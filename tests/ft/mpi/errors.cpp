// SPDX-License-Identifier: BSD-3-Clause
// ranks: 4
// Whoever needs a rank that has died is told so; everything else goes on.
#include <mpi.h>
#include <signal.h>

#include <vector>

#include "mpi/check.hpp"

namespace {

using check::class_of;

int size_of(MPI_Group group) {
  int n = -1;
  MPI_Group_size(group, &n);
  return n;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const MPI_Comm w = MPI_COMM_WORLD;
  int rank, x = 7, flag;
  MPI_Comm_rank(w, &rank);
  MPI_Comm_set_errhandler(w, MPI_ERRORS_RETURN);
  MPI_Barrier(w);
  if (rank == 2) {
    // What it has sent is still to be received.
    MPI_Send(&x, 1, MPI_INT, 0, 5, w);
    raise(SIGKILL);
  }
  MPI_Group failed, world;
  MPI_Comm_group(w, &world);
  const auto meet = [&] {  // those that live
    int all = 1;
    MPIX_Comm_agree(w, &all);
  };
  CHECK(MPIX_Comm_failure_get_acked(w, &failed) == MPI_SUCCESS && size_of(failed) == 0);

  // A receive, a synchronous send, a long send, a probe.
  if (rank == 0) CHECK(MPI_Recv(&x, 1, MPI_INT, 2, 5, w, MPI_STATUS_IGNORE) == MPI_SUCCESS && x == 7);
  CHECK(class_of(MPI_Recv(&x, 1, MPI_INT, 2, 0, w, MPI_STATUS_IGNORE)) == MPIX_ERR_PROC_FAILED);
  CHECK(class_of(MPI_Ssend(&x, 1, MPI_INT, 2, 0, w)) == MPIX_ERR_PROC_FAILED);
  std::vector<int> much(1 << 20);
  CHECK(class_of(MPI_Send(much.data(), 1 << 20, MPI_INT, 2, 0, w)) == MPIX_ERR_PROC_FAILED);
  CHECK(class_of(MPI_Probe(2, 0, w, MPI_STATUS_IGNORE)) == MPIX_ERR_PROC_FAILED);
  CHECK(class_of(MPI_Iprobe(2, 0, w, &flag, MPI_STATUS_IGNORE)) == MPIX_ERR_PROC_FAILED);

  // From any source: a blocking receive fails, one in the background is pending until the failure is acknowledged.
  CHECK(class_of(MPI_Recv(&x, 1, MPI_INT, MPI_ANY_SOURCE, 1, w, MPI_STATUS_IGNORE)) == MPIX_ERR_PROC_FAILED);
  CHECK(class_of(MPI_Probe(MPI_ANY_SOURCE, 1, w, MPI_STATUS_IGNORE)) == MPIX_ERR_PROC_FAILED);
  MPI_Request r[2];
  int got = -1, index, count, indices[2];
  MPI_Status status[2];
  MPI_Irecv(&got, 1, MPI_INT, MPI_ANY_SOURCE, 1, w, &r[0]);
  r[1] = MPI_REQUEST_NULL;
  CHECK(class_of(MPI_Wait(&r[0], status)) == MPIX_ERR_PROC_FAILED_PENDING && r[0] != MPI_REQUEST_NULL);
  CHECK(class_of(MPI_Test(&r[0], &flag, status)) == MPIX_ERR_PROC_FAILED_PENDING && flag == 0);
  CHECK(class_of(MPI_Waitany(2, r, &index, status)) == MPIX_ERR_PROC_FAILED_PENDING && index == 0);
  CHECK(class_of(MPI_Waitall(2, r, status)) == MPI_ERR_IN_STATUS);
  CHECK(class_of(status[0].MPI_ERROR) == MPIX_ERR_PROC_FAILED_PENDING && status[1].MPI_ERROR == MPI_SUCCESS);
  CHECK(class_of(MPI_Waitsome(2, r, &count, indices, status)) == MPI_ERR_IN_STATUS && count == 1 && indices[0] == 0);
  CHECK(r[0] != MPI_REQUEST_NULL);
  // A persistent one likewise.
  MPI_Request p;
  int again = -1;
  MPI_Recv_init(&again, 1, MPI_INT, MPI_ANY_SOURCE, 3, w, &p);
  MPI_Start(&p);
  CHECK(class_of(MPI_Wait(&p, status)) == MPIX_ERR_PROC_FAILED_PENDING);

  CHECK(MPIX_Comm_get_failed(w, &failed) == MPI_SUCCESS && size_of(failed) == 1);
  int none = -1, two = 2, theirs;
  MPI_Group_translate_ranks(failed, 1, &(none = 0), world, &theirs);
  CHECK(theirs == two);
  int acked = -1;
  CHECK(MPIX_Comm_ack_failed(w, 0, &acked) == MPI_SUCCESS && acked == 0);
  CHECK(MPIX_Comm_ack_failed(w, 5, &acked) == MPI_SUCCESS && acked == 1);
  CHECK(MPIX_Comm_failure_get_acked(w, &failed) == MPI_SUCCESS && size_of(failed) == 1);

  // Those that live talk: 0 -> 1 -> 3 -> 0.
  meet();
  const int next[] = {1, 3, -1, 0}, before[] = {3, 0, -1, 1};
  MPI_Send(&rank, 1, MPI_INT, next[rank], 1, w);
  MPI_Send(&rank, 1, MPI_INT, next[rank], 3, w);
  CHECK(MPI_Wait(&r[0], status) == MPI_SUCCESS && got == before[rank] && status[0].MPI_SOURCE == before[rank]);
  CHECK(MPI_Wait(&p, status) == MPI_SUCCESS && again == before[rank]);
  MPI_Request_free(&p);

  // Collectives end, and those fail that depend on the dead.
  int sum = 0;
  CHECK(class_of(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, w)) == MPIX_ERR_PROC_FAILED);
  CHECK(class_of(MPI_Barrier(w)) == MPIX_ERR_PROC_FAILED);
  MPI_Request b;
  MPI_Iallreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, w, &b);
  CHECK(class_of(MPI_Wait(&b, MPI_STATUS_IGNORE)) == MPIX_ERR_PROC_FAILED);
  MPI_Comm dup;
  CHECK(MPI_Comm_dup(w, &dup) != MPI_SUCCESS);
  CHECK(MPI_Comm_split(w, 0, rank, &dup) != MPI_SUCCESS);
  return check::finish();
}
