/* SPDX-License-Identifier: BSD-3-Clause */
/* Where the port is that a spawned process is to come to: the process is no program of MPI's, and prints what it is
 * told. Its parent learns that it never comes. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
  char dash[] = "-c", say[] = "echo port $RMQ_PARENT_PORT";
  char* words[] = {dash, say, NULL};
  MPI_Comm children = MPI_COMM_NULL;
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  const int code =
      MPI_Comm_spawn("/bin/sh", words, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &children, MPI_ERRCODES_IGNORE);
  if (code == MPI_SUCCESS) puts("a shell has come to the port");
  MPI_Finalize();
  return code == MPI_SUCCESS;
}
