/* SPDX-License-Identifier: BSD-3-Clause */
/* Parents and children that talk without end until somebody is killed.  mortal PIDFILE
   Each process adds its id to the file. All fail, so none may hang, and none may be left. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char** argv) {
  FILE* f = fopen(argv[1], "a");
  fprintf(f, "%d\n", (int)getpid());
  fclose(f);
  MPI_Comm parent, inter, both;
  MPI_Init(&argc, &argv);
  MPI_Comm_get_parent(&parent);
  char* arguments[] = {argv[1], NULL};
  for (;;) {
    if (parent == MPI_COMM_NULL) {
      MPI_Comm_spawn(argv[0], arguments, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter, MPI_ERRCODES_IGNORE);
    } else {
      inter = parent;
    }
    MPI_Intercomm_merge(inter, parent != MPI_COMM_NULL, &both);
    int n, me, token = 0;
    MPI_Comm_size(both, &n);
    MPI_Comm_rank(both, &me);
    static char data[100000];
    for (int i = 0; i < 300; ++i) {
      MPI_Allreduce(MPI_IN_PLACE, &token, 1, MPI_INT, MPI_SUM, both);
      MPI_Sendrecv_replace(data, i % 10 == 0 ? (int)sizeof data : 8, MPI_CHAR, (me + 1) % n, 0, (me + n - 1) % n, 0,
                           both, MPI_STATUS_IGNORE);
    }
    MPI_Comm_free(&both);
    MPI_Comm_disconnect(&inter);
    if (parent != MPI_COMM_NULL) break;
  }
  MPI_Finalize();
  return 0;
}
