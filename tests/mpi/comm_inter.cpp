// SPDX-License-Identifier: BSD-3-Clause
// ranks: 5
// Inter-communicators: made, used for messages, duplicated, split, merged in both orders.
#include "check.hpp"

namespace {

/// Ranks 0 and 1 on one side, 2, 3 and 4 on the other; leaders are the last of each side.
MPI_Comm make(MPI_Comm& local) {
  const int me = check::rank(), low = me < 2;
  MPI_Comm_split(MPI_COMM_WORLD, low, 0, &local);
  MPI_Comm inter;
  MPI_Intercomm_create(local, check::size(local) - 1, MPI_COMM_WORLD, low ? 4 : 1, 12, &inter);
  return inter;
}

void talk(MPI_Comm inter) {
  const int me = check::rank(inter);
  int remote, flag;
  MPI_Comm_remote_size(inter, &remote);
  MPI_Comm_test_inter(inter, &flag);
  CHECK(flag == 1 && remote + check::size(inter) == 5);
  // Everyone sends to everyone on the other side.
  for (int r = 0; r < remote; ++r) MPI_Send(&me, 1, MPI_INT, r, 5, inter);
  for (int r = 0; r < remote; ++r) {
    int got;
    MPI_Status s;
    MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, 5, inter, &s);
    CHECK(got == s.MPI_SOURCE);
  }
}

void merge(MPI_Comm inter, bool low_side_first) {
  const int me = check::rank();
  MPI_Comm all;
  MPI_Intercomm_merge(inter, low_side_first ? me >= 2 : me < 2, &all);
  CHECK(check::size(all) == 5);
  CHECK(check::rank(all) == (low_side_first ? me : me < 2 ? me + 3 : me - 2));
  int total = 0;
  MPI_Allreduce(&me, &total, 1, MPI_INT, MPI_SUM, all);
  CHECK(total == 10);
  MPI_Comm_free(&all);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm local, inter, copy, part;
  inter = make(local);
  talk(inter);
  MPI_Comm_dup(inter, &copy);
  talk(copy);
  int compared;
  MPI_Comm_compare(inter, copy, &compared);
  CHECK(compared == MPI_CONGRUENT);
  MPI_Comm_free(&copy);
  merge(inter, true);
  merge(inter, false);
  MPI_Comm_split(inter, check::rank(local) == 0 ? 1 : MPI_UNDEFINED, 0, &part);
  if (check::rank(local) == 0) {
    int remote;
    MPI_Comm_remote_size(part, &remote);
    CHECK(check::size(part) == 1 && remote == 1);
    MPI_Comm_free(&part);
  } else {
    CHECK(part == MPI_COMM_NULL);
  }
  MPI_Comm_free(&inter);
  MPI_Comm_free(&local);
  return check::finish();
}
