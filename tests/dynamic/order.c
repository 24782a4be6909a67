/* SPDX-License-Identifier: BSD-3-Clause */
/* Two worlds meet at a port while duplicates of communicators of both are under way. The communicators over which they
   accept and connect have contexts higher on one side and lower on the other than those that are duplicated. Two ranks,
   and two that they spawn. */
#include "check.h"

enum { kRounds = 10, kCopies = 4 };

static void use(MPI_Comm c) {
  int one = 1, sum = 0;
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, c);
  CHECK(sum > 0);
}

int main(int argc, char** argv) {
  MPI_Comm parent, family, both, low, high, between[kCopies], copies[kCopies], inter;
  MPI_Group own;
  MPI_Request under_way[kCopies];
  char port[MPI_MAX_PORT_NAME] = "";
  MPI_Init(&argc, &argv);
  MPI_Comm_get_parent(&parent);
  const int spawned = parent != MPI_COMM_NULL;
  family = parent;
  if (!spawned)
    MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &family, MPI_ERRCODES_IGNORE);
  MPI_Intercomm_merge(family, spawned, &both);
  MPI_Comm_group(MPI_COMM_WORLD, &own);
  MPI_Comm_create_group(both, own, 1, &low);
  for (int i = 0; i < kCopies; ++i) MPI_Comm_dup(both, &between[i]);
  MPI_Comm_create_group(both, own, 2, &high);
  int me;
  MPI_Comm_rank(both, &me);
  if (me == 0) MPI_Open_port(MPI_INFO_NULL, port);
  MPI_Bcast(port, MPI_MAX_PORT_NAME, MPI_CHAR, 0, both);
  for (int round = 0; round < kRounds; ++round) {
    for (int i = 0; i < kCopies; ++i) MPI_Comm_idup(between[i], &copies[i], &under_way[i]);
    if (spawned)
      MPI_Comm_connect(port, MPI_INFO_NULL, 0, low, &inter);
    else
      MPI_Comm_accept(port, MPI_INFO_NULL, 0, high, &inter);
    use(inter);
    MPI_Waitall(kCopies, under_way, MPI_STATUSES_IGNORE);
    for (int i = 0; i < kCopies; ++i) {
      use(copies[i]);
      MPI_Comm_free(&copies[i]);
    }
    MPI_Comm_disconnect(&inter);
  }
  if (me == 0) MPI_Close_port(port);
  for (int i = 0; i < kCopies; ++i) MPI_Comm_free(&between[i]);
  MPI_Comm_free(&low), MPI_Comm_free(&high);
  MPI_Group_free(&own);
  MPI_Comm_disconnect(&both);
  MPI_Comm_disconnect(&family);
  return finish();
}
