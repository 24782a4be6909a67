// SPDX-License-Identifier: BSD-3-Clause
// ranks: 2
// A session begins, tells what there is, serves this rank alone and ends without the other rank, which does nothing
// with MPI meanwhile; each in turn. Only a communicator with both needs both.
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "check.hpp"

namespace {

/// A file that one rank makes and the other waits for: neither may need MPI here.
std::string flag_of(int turn) {
  return std::string("/tmp/rmq-session-alone-") + std::getenv("RMQ_JOB") + "-" + std::to_string(turn);
}
void raise_flag(int turn) {
  std::fclose(std::fopen(flag_of(turn).c_str(), "w"));
}
void await_flag(int turn) {
  while (::access(flag_of(turn).c_str(), F_OK) != 0) ::usleep(1000);
  ::unlink(flag_of(turn).c_str());
}

void use_alone() {
  MPI_Session s;
  CHECK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &s) == MPI_SUCCESS);
  int sets = 0, size = 0, in = 7, out = 0;
  MPI_Session_get_num_psets(s, MPI_INFO_NULL, &sets);
  CHECK(sets >= 2);
  MPI_Group world, self;
  MPI_Group_from_session_pset(s, "mpi://WORLD", &world);
  MPI_Group_size(world, &size);
  CHECK(size == 2);
  MPI_Group_free(&world);
  MPI_Group_from_session_pset(s, "mpi://SELF", &self);
  MPI_Comm mine;
  CHECK(MPI_Comm_create_from_group(self, "mine", MPI_INFO_NULL, MPI_ERRORS_RETURN, &mine) == MPI_SUCCESS);
  MPI_Group_free(&self);
  MPI_Sendrecv(&in, 1, MPI_INT, 0, 0, &out, 1, MPI_INT, 0, 0, mine, MPI_STATUS_IGNORE);
  CHECK(out == 7);
  out = 0;
  MPI_Send(&in, 1, MPI_INT, 0, 0, mine);
  MPI_Recv(&out, 1, MPI_INT, 0, 0, mine, MPI_STATUS_IGNORE);
  CHECK(out == 7);
  MPI_Barrier(mine);
  MPI_Comm_free(&mine);
  void* memory = nullptr;
  CHECK(MPI_Alloc_mem(1000, MPI_INFO_NULL, &memory) == MPI_SUCCESS && memory);
  MPI_Free_mem(memory);
  // The world model has not begun.
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  CHECK_CLASS(MPI_Barrier(MPI_COMM_WORLD), MPI_ERR_COMM);
  CHECK(MPI_Session_finalize(&s) == MPI_SUCCESS);
}

}  // namespace

int main() {
  const int me = std::atoi(std::getenv("RMQ_RANK"));
  if (me == 1) use_alone();
  if (me == 1) raise_flag(1);
  if (me == 0) await_flag(1);
  if (me == 0) use_alone();
  if (me == 0) raise_flag(0);
  if (me == 1) await_flag(0);
  MPI_Session s;
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &s);
  MPI_Group world;
  MPI_Comm both;
  MPI_Group_from_session_pset(s, "mpi://WORLD", &world);
  MPI_Comm_create_from_group(world, "both", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &both);
  int sum = 0;
  MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, both);
  if (sum != 1) ++check::failures;
  MPI_Comm_free(&both);
  MPI_Group_free(&world);
  MPI_Session_finalize(&s);
  return check::failures ? 1 : 0;
}
