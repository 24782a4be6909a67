/* SPDX-License-Identifier: BSD-3-Clause */
/* A job of any kind that is started, and not connected: MPI_Finalize does not wait for it, nor do its ranks' ends count
   for anything. It lives until this one has ended. */
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "check.h"
#include "rmq_spawn.h"

int main(int argc, char** argv) {
  if (argc == 2) { /* no MPI program */
    while (kill((pid_t)atoi(argv[1]), 0) == 0) usleep(1000);
    return 0;
  }
  MPI_Init(&argc, &argv);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) {
    char pid[16], job[RMQ_JOB_NAME], *command = argv[0], *words[] = {pid, NULL}, **all = words;
    const int processes = 2;
    snprintf(pid, sizeof pid, "%d", (int)getpid());
    CHECK(rmq_start_job(1, &command, &all, &processes, NULL, job) == MPI_SUCCESS);
  }
  return finish();
}
