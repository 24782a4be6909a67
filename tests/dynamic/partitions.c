/* SPDX-License-Identifier: BSD-3-Clause */
/* Partitioned messages between processes of two jobs that have the same number, beside ones inside of each job. */
#include <stdlib.h>

#include "check.h"

enum { kParts = 4, kEach = 100, kRounds = 3 };

static double value(int child, int rank, int round, int i) {
  return child * 1e6 + rank * 1e5 + round * 1e4 + i;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm parent, inter;
  MPI_Comm_get_parent(&parent);
  const int child = parent != MPI_COMM_NULL;
  int me, size, theirs;
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (child)
    inter = parent;
  else
    MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter, MPI_ERRCODES_IGNORE);
  MPI_Comm_remote_size(inter, &theirs);
  /* [0]: the other job's process of this number; [1]: the next one of the own job. All use one tag. */
  const MPI_Comm comms[2] = {inter, MPI_COMM_WORLD};
  const int to[2] = {me, (me + 1) % size}, from[2] = {me, (me + size - 1) % size};
  static double out[2][kParts * kEach], in[2][kParts * kEach];
  MPI_Request all[4];
  const int first = me < theirs ? 0 : 1; /* a process that has none over there */
  for (int k = first; k < 2; ++k) {
    MPI_Precv_init(in[k], kParts, kEach, MPI_DOUBLE, from[k], 3, comms[k], MPI_INFO_NULL, &all[2 * k]);
    MPI_Psend_init(out[k], kParts, kEach, MPI_DOUBLE, to[k], 3, comms[k], MPI_INFO_NULL, &all[2 * k + 1]);
  }
  for (int round = 0; round < kRounds; ++round) {
    for (int k = first; k < 2; ++k)
      for (int i = 0; i < kParts * kEach; ++i) out[k][i] = value(child, me, round, i) + k * 0.5, in[k][i] = -1;
    MPI_Startall(2 * (2 - first), all + 2 * first);
    /* Own neighbours first where ranks are odd, so that either may be taken for the other. */
    for (int k = first; k < 2; ++k) {
      const int one = first == 0 && me % 2 ? 1 - k : k;
      for (int part = kParts - 1; part >= 0; --part) MPI_Pready(part, all[2 * one + 1]);
    }
    MPI_Waitall(2 * (2 - first), all + 2 * first, MPI_STATUSES_IGNORE);
    for (int k = first; k < 2; ++k)
      for (int i = 0; i < kParts * kEach; ++i)
        CHECK(in[k][i] == value(k == 0 ? !child : child, from[k], round, i) + k * 0.5);
  }
  for (int i = 2 * first; i < 4; ++i) MPI_Request_free(&all[i]);
  MPI_Comm_disconnect(&inter);
  return finish();
}
