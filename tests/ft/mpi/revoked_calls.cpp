// SPDX-License-Identifier: BSD-3-Clause
// ranks: 4
// Functions that make something of a communicator that is known to be revoked fail at once, whoever else calls them;
// MPI_Intercomm_create also while it waits for the other side, which then fails as well, and what the two have said
// does not get in the way of the next attempt.
#include <mpi.h>
#include <unistd.h>

#include <thread>

#include "mpi/check.hpp"

namespace {

using check::class_of;

void alone(MPI_Comm revoked) {
  char port[MPI_MAX_PORT_NAME] = "", command[] = "/bin/true";
  char* commands[] = {command};
  int one = 1, source = 0, degree = 1, destination = 1;
  MPI_Info info = MPI_INFO_NULL;
  MPI_Comm made = MPI_COMM_NULL;
  MPI_Request r;
  MPI_Open_port(MPI_INFO_NULL, port);
  CHECK(class_of(MPI_Comm_accept(port, MPI_INFO_NULL, 0, revoked, &made)) == MPIX_ERR_REVOKED);
  CHECK(class_of(MPI_Comm_connect(port, MPI_INFO_NULL, 0, revoked, &made)) == MPIX_ERR_REVOKED);
  CHECK(class_of(MPI_Comm_spawn(command, MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, revoked, &made, MPI_ERRCODES_IGNORE)) ==
        MPIX_ERR_REVOKED);
  CHECK(class_of(MPI_Comm_spawn_multiple(1, commands, MPI_ARGVS_NULL, &one, &info, 0, revoked, &made,
                                         MPI_ERRCODES_IGNORE)) == MPIX_ERR_REVOKED);
  CHECK(class_of(MPI_Intercomm_create(revoked, 0, MPI_COMM_WORLD, 1, 3, &made)) == MPIX_ERR_REVOKED);
  CHECK(class_of(MPI_Dist_graph_create(revoked, 1, &source, &degree, &destination, MPI_UNWEIGHTED, MPI_INFO_NULL, 0,
                                       &made)) == MPIX_ERR_REVOKED);
  int code = MPI_Comm_idup(revoked, &made, &r);
  if (code == MPI_SUCCESS) code = MPI_Wait(&r, MPI_STATUS_IGNORE);
  CHECK(class_of(code) == MPIX_ERR_REVOKED && made == MPI_COMM_NULL);
  MPI_Close_port(port);
}

/// Of ranks 0 … 2 with rank 3.
int bring_together(MPI_Comm local, MPI_Comm* made) {
  return class_of(MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, check::rank() == 3 ? 0 : 3, 7, made));
}

}  // namespace

int main(int argc, char** argv) {
  int level;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm c;
  MPI_Comm_dup(MPI_COMM_WORLD, &c);
  if (check::rank() == 1) MPIX_Comm_revoke(c);
  for (int is = 0; !is;) MPIX_Comm_is_revoked(c, &is);
  MPI_Barrier(MPI_COMM_WORLD);
  if (check::rank() == 0) alone(c);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Comm_free(&c);

  for (const bool works : {false, true}) {
    MPI_Comm local, idup, made = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, check::rank() == 3, 0, &local);
    MPI_Request r;
    MPI_Comm_idup(local, &idup, &r);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    CHECK(idup != MPI_COMM_NULL);
    MPI_Comm_free(&idup);
    std::thread revokes;
    if (check::rank() == 1 && !works) {
      revokes = std::thread([local] {
        usleep(50'000);  // most probably all wait by then
        MPIX_Comm_revoke(local);
      });
    }
    if (!works) {
      if (check::rank() != 3) CHECK(bring_together(local, &made) == MPIX_ERR_REVOKED && made == MPI_COMM_NULL);
      if (revokes.joinable()) revokes.join();
      MPI_Barrier(MPI_COMM_WORLD);
      if (check::rank() == 3) CHECK(bring_together(local, &made) != MPI_SUCCESS && made == MPI_COMM_NULL);
      MPI_Barrier(MPI_COMM_WORLD);
    } else {
      CHECK(bring_together(local, &made) == MPI_SUCCESS);
      int one = 1, sum = 0;
      MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, made);
      CHECK(sum == (check::rank() == 3 ? 3 : 1));
      MPI_Comm_free(&made);
    }
    MPI_Comm_free(&local);
  }
  return check::finish();
}
