/* SPDX-License-Identifier: BSD-3-Clause */
/* Worlds that end before they are connected: the parents hear of it as an error, and go on. Two ranks. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

int main(int argc, char** argv) {
  if (argc > 1 && strcmp(argv[1], "killed") == 0) raise(SIGKILL);
  if (argc > 1 && strcmp(argv[1], "exits") == 0) return 7;
  int rank, codes[3];
  MPI_Comm inter;
  MPI_Init(&argc, &argv);
  if (was_spawned()) return 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  for (int round = 0; round < 3; ++round) {
    char *ends[2][2] = {{"killed", NULL}, {"exits", NULL}}, *good[] = {"good", NULL};
    for (int how = 0; how < 2; ++how) {
      CHECK(class_of(MPI_Comm_spawn(argv[0], ends[how], 3, MPI_INFO_NULL, round % 2, MPI_COMM_WORLD, &inter, codes)) ==
            MPI_ERR_SPAWN);
      CHECK(inter == MPI_COMM_NULL && (rank != round % 2 || codes[2] == MPI_ERR_SPAWN));
    }
    /* A program that has never heard of MPI. */
    CHECK(class_of(MPI_Comm_spawn("true", MPI_ARGV_NULL, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter, codes)) ==
          MPI_ERR_SPAWN);
    CHECK(MPI_Comm_spawn(argv[0], good, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter, codes) == MPI_SUCCESS);
    MPI_Comm_disconnect(&inter);
  }
  return finish();
}
