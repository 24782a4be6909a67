/* SPDX-License-Identifier: BSD-3-Clause */
/* A program with MPICH's own library: says who it is, then does what its argument says. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int attribute(int key) {
  int* value = NULL;
  int found = 0;
  MPI_Comm_get_attr(MPI_COMM_WORLD, key, &value, &found);
  return found ? *value : -1;
}

static void names(int rank) {
  const char* port = "port"; /* Debian's MPICH opens none */
  char found[MPI_MAX_PORT_NAME] = "";
  if (rank == 0) MPI_Publish_name("service", MPI_INFO_NULL, port);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 1) {
    MPI_Lookup_name("service", MPI_INFO_NULL, found);
    puts(strcmp(port, found) == 0 ? "found" : "lost");
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) MPI_Unpublish_name("service", MPI_INFO_NULL, port);
}

int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "";
  int rank, size, sum, length;
  char version[MPI_MAX_LIBRARY_VERSION_STRING];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int mine = rank + 1;
  MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Get_library_version(version, &length);
  if (!*what)
    printf("%d of %d sum %d universe %d app %d %.5s\n", rank, size, sum, attribute(MPI_UNIVERSE_SIZE),
           attribute(MPI_APPNUM), version);
  if (strcmp(what, "names") == 0) names(rank);
  if (strcmp(what, "abort") == 0 && rank == 1) MPI_Abort(MPI_COMM_WORLD, 7);
  if (strcmp(what, "die") == 0 && rank == 1) raise(SIGKILL);
  if (strcmp(what, "leave") == 0 && rank == 1) exit(0);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
