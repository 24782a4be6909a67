// SPDX-License-Identifier: BSD-3-Clause
// ranks: 3
// Communicators are made by requests, several at a time, while one rank looks for messages between its calls and others
// do not: which agreements are over when the next is asked for differs from rank to rank. What a rank has not waited
// for holds up no other agreement. In the end a rank dies while they are under way.
#include <signal.h>

#include <array>

#include "mpi/check.hpp"

namespace {

constexpr int kRounds = 60;

/// So many looks for messages as to let agreements that are under way come to their end, or not.
void look(int round, int call) {
  const int draw = (check::rank() * 7 + round * 5 + call * 3) % 8;
  for (int i = 0; i < (draw < 4 ? 0 : 40 * draw); ++i) {
    int flag;
    MPI_Iprobe(MPI_ANY_SOURCE, 99, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
  }
}

/// Whether each duplicate is at all ranks the same one of those made at a time.
void tell_apart(MPI_Comm c, int which) {
  const int n = check::size(c), me = check::rank(c);
  int got = -1;
  MPI_Sendrecv(&which, 1, MPI_INT, (me + 1) % n, 7, &got, 1, MPI_INT, (me + n - 1) % n, 7, c, MPI_STATUS_IGNORE);
  CHECK(got == which);
}

void not_waited_for(MPI_Comm a, MPI_Comm b) {
  MPI_Comm copy, living, part;
  std::array<MPI_Request, 2> requests;
  MPI_Comm_idup(a, &copy, &requests[0]);
  MPIX_Comm_ishrink(a, &living, &requests[1]);
  for (int i = 0; i < 2; ++i) {  // by which the two are over
    CHECK(MPI_Comm_split(b, 0, 0, &part) == MPI_SUCCESS);
    MPI_Comm_free(&part);
  }
  MPI_Waitall(2, requests.data(), MPI_STATUSES_IGNORE);
  tell_apart(copy, 0);
  tell_apart(living, 1);
  MPI_Comm_free(&copy), MPI_Comm_free(&living);
}

void several(MPI_Comm a, int round) {
  std::array<MPI_Comm, 5> made;
  std::array<MPI_Request, 6> requests;
  int flag = check::rank() == 1 ? 6 : 7;
  const auto make = [&](std::size_t i, auto call) {
    call(a, &made[i], &requests[i]);
    look(round, static_cast<int>(i));
  };
  make(0, MPI_Comm_idup);
  make(1, MPIX_Comm_ishrink);
  MPIX_Comm_iagree(a, &flag, &requests[5]);
  look(round, 5);
  make(2, MPI_Comm_idup);
  make(3, MPI_Comm_idup);
  make(4, MPIX_Comm_ishrink);
  MPI_Waitall(6, requests.data(), MPI_STATUSES_IGNORE);
  CHECK(flag == 6);
  for (std::size_t i = 0; i < made.size(); ++i) {
    tell_apart(made[i], static_cast<int>(i));
    MPI_Comm_free(&made[i]);
  }
}

void with_one_that_dies(MPI_Comm a) {
  MPI_Comm_set_errhandler(a, MPI_ERRORS_RETURN);
  std::array<MPI_Comm, 3> made;
  std::array<MPI_Request, 3> requests;
  std::array<MPI_Status, 3> statuses;
  if (check::rank() == 2) raise(SIGKILL);
  MPI_Comm_idup(a, &made[0], &requests[0]);
  MPIX_Comm_ishrink(a, &made[1], &requests[1]);
  MPI_Comm_idup(a, &made[2], &requests[2]);
  CHECK_CLASS(MPI_Waitall(3, requests.data(), statuses.data()), MPI_ERR_IN_STATUS);
  CHECK_CLASS(statuses[0].MPI_ERROR, MPIX_ERR_PROC_FAILED);
  CHECK_CLASS(statuses[2].MPI_ERROR, MPIX_ERR_PROC_FAILED);
  CHECK(statuses[1].MPI_ERROR == MPI_SUCCESS && check::size(made[1]) == 2);
  tell_apart(made[1], 3);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm a, b;
  MPI_Comm_dup(MPI_COMM_WORLD, &a);
  MPI_Comm_dup(MPI_COMM_WORLD, &b);
  not_waited_for(a, b);
  for (int round = 0; round < kRounds; ++round) several(a, round);
  with_one_that_dies(a);
  return check::finish();
}
