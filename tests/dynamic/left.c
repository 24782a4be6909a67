/* SPDX-License-Identifier: BSD-3-Clause */
/* A program that nobody has launched spawns two workers one after the other and comes to an end that is none of MPI's:
   what it has started ends with it (left_test.sh looks).  left END WORKERS JOINED
     END      exit: without MPI_Finalize; abort: MPI_Abort; fatal: an error that nobody handles; kill, term: signals;
              early: it is killed while it spawns a program that knows nothing of MPI
     WORKERS  receive: they wait for a message; compute: they are not in MPI; finalize: they are in MPI_Finalize
     JOINED   joined: all three have communicators, which are freed, and those between two are disconnected; apart */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void join(MPI_Comm parent, MPI_Comm* workers, int number) {
  MPI_Comm pair = MPI_COMM_NULL, bridge, all;
  if (number == 0) {
    MPI_Intercomm_merge(workers[0], 0, &pair);
    MPI_Intercomm_create(pair, 0, workers[1], 0, 9, &bridge);
  } else if (number == 1) {
    MPI_Intercomm_merge(parent, 1, &pair);
    MPI_Intercomm_create(pair, 0, MPI_COMM_NULL, 0, 9, &bridge);
  } else {
    MPI_Intercomm_create(MPI_COMM_WORLD, 0, parent, 0, 9, &bridge);
  }
  MPI_Intercomm_merge(bridge, number == 2, &all);
  MPI_Barrier(all);
  if (pair != MPI_COMM_NULL) MPI_Comm_free(&pair);
  MPI_Comm_free(&bridge), MPI_Comm_free(&all);
  if (number == 0)
    MPI_Comm_disconnect(&workers[0]), MPI_Comm_disconnect(&workers[1]);
  else
    MPI_Comm_disconnect(&parent);
}

static void work(const char* how) {
  int never;
  if (strcmp(how, "receive") == 0) MPI_Recv(&never, 1, MPI_INT, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
  while (strcmp(how, "compute") == 0) pause();
  MPI_Finalize();
}

static void end(char* how) {
  if (strcmp(how, "exit") == 0) exit(3);
  if (strcmp(how, "abort") == 0) MPI_Abort(MPI_COMM_SELF, 3);
  if (strcmp(how, "fatal") == 0) MPI_Send(how, 1, MPI_CHAR, 99, 0, MPI_COMM_WORLD);
  if (strcmp(how, "term") == 0) raise(SIGTERM);
  raise(SIGKILL);
}

int main(int argc, char** argv) {
  MPI_Comm parent, workers[2];
  char word[64];
  char *shell[] = {"-c", word, NULL}, *words[] = {argv[1], argv[2], argv[3], "1", NULL};
  MPI_Init(&argc, &argv);
  MPI_Comm_get_parent(&parent);
  if (strcmp(argv[1], "early") == 0) {
    snprintf(word, sizeof word, "kill -9 %d; while :; do sleep 1; done", (int)getpid());
    MPI_Comm_spawn("sh", shell, 1, MPI_INFO_NULL, 0, MPI_COMM_SELF, &workers[0], MPI_ERRCODES_IGNORE);
  }
  for (int i = 0; i < 2 && parent == MPI_COMM_NULL; ++i) {
    words[3] = i == 0 ? "1" : "2";
    MPI_Comm_spawn(argv[0], words, 1, MPI_INFO_NULL, 0, MPI_COMM_SELF, &workers[i], MPI_ERRCODES_IGNORE);
  }
  if (strcmp(argv[3], "joined") == 0) join(parent, workers, argc > 4 ? atoi(argv[4]) : 0);
  if (parent != MPI_COMM_NULL)
    work(argv[2]);
  else
    end(argv[1]);
  return 0;
}
