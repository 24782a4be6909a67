// SPDX-License-Identifier: BSD-3-Clause
// ranks: 3
// One rank alone has a session, beside the world model and after it: MPI ends when all programs do.
#include "check.hpp"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const bool mine = check::rank() == 1;
  MPI_Session s = MPI_SESSION_NULL;
  if (mine) MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &s);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  if (!mine) return check::failures;
  for (int life = 0; life < 2; ++life) {
    MPI_Group g;
    MPI_Comm c;
    int size = 0;
    CHECK(MPI_Group_from_session_pset(s, "mpi://WORLD", &g) == MPI_SUCCESS);
    MPI_Group_size(g, &size);
    CHECK(size == 3);
    MPI_Group_free(&g);
    MPI_Group_from_session_pset(s, "mpi://SELF", &g);
    CHECK(MPI_Comm_create_from_group(g, "alone", MPI_INFO_NULL, MPI_ERRORS_RETURN, &c) == MPI_SUCCESS);
    MPI_Comm_free(&c);
    MPI_Group_free(&g);
    MPI_Session_finalize(&s);
    if (life == 0) MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &s);
  }
  return check::failures;
}
