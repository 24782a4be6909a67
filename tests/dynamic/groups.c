/* SPDX-License-Identifier: BSD-3-Clause */
/* Communicators of groups with processes of two jobs, without a communicator to make them from. Two ranks. */
#include "check.h"

static void use(MPI_Comm c, int n) {
  int me, size, sum = 0;
  MPI_Comm_rank(c, &me);
  MPI_Comm_size(c, &size);
  CHECK(size == n);
  MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, c);
  CHECK(sum == n * (n - 1) / 2);
  int token = me;
  MPI_Sendrecv_replace(&token, 1, MPI_INT, (me + 1) % n, 3, (me + n - 1) % n, 3, c, MPI_STATUS_IGNORE);
  CHECK(token == (me + n - 1) % n);
}

int main(int argc, char** argv) {
  MPI_Comm parent, children = MPI_COMM_NULL, both, made, inter;
  MPI_Group all, odd, even;
  int n, me, remote, got = -1;
  MPI_Init(&argc, &argv);
  MPI_Comm_get_parent(&parent);
  if (parent == MPI_COMM_NULL)
    MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 3, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &children, MPI_ERRCODES_IGNORE);
  MPI_Intercomm_merge(parent == MPI_COMM_NULL ? children : parent, parent != MPI_COMM_NULL, &both);
  MPI_Comm_size(both, &n);
  MPI_Comm_rank(both, &me);
  MPI_Comm_group(both, &all);
  CHECK(MPI_Comm_create_from_group(all, "all", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &made) == MPI_SUCCESS);
  use(made, n);
  MPI_Comm_free(&made);
  /* In another order, some of them, and two such groups at the same time. */
  int evens[][3] = {{n - 1 - (n - 1) % 2, 0, -2}}, odds[][3] = {{1, n - 1 - n % 2, 2}};
  MPI_Group_range_incl(all, 1, evens, &even);
  MPI_Group_range_incl(all, 1, odds, &odd);
  const int is_odd = me % 2;
  CHECK(MPI_Comm_create_from_group(is_odd ? odd : even, "half", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &made) ==
        MPI_SUCCESS);
  use(made, is_odd ? n / 2 : n - n / 2);
  CHECK(MPI_Intercomm_create_from_groups(is_odd ? odd : even, 0, is_odd ? even : odd, 0, "bridge", MPI_INFO_NULL,
                                         MPI_ERRORS_ARE_FATAL, &inter) == MPI_SUCCESS);
  MPI_Comm_remote_size(inter, &remote);
  CHECK(remote == (is_odd ? n - n / 2 : n / 2));
  int one = 1;
  MPI_Allreduce(&one, &got, 1, MPI_INT, MPI_SUM, inter);
  CHECK(got == remote);
  MPI_Comm_free(&inter);
  MPI_Comm_free(&made);
  MPI_Group_free(&all), MPI_Group_free(&odd), MPI_Group_free(&even);
  MPI_Comm_free(&both);
  MPI_Comm_disconnect(parent == MPI_COMM_NULL ? &children : &parent);
  return finish();
}
