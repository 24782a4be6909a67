// SPDX-License-Identifier: BSD-3-Clause
// Process 1 dies in a job that goes on when ranks die: whatever the others do (argument), it ends them.
#define _DEFAULT_SOURCE
#include <mpi.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../check.h"

int main(int argc, char** argv) {
  const char* const what = argc > 1 ? argv[1] : "";
  MPI_Init(&argc, &argv);
  ARMCI_Init();
  void* words[8];
  CHECK(ARMCI_Malloc(words, sizeof(long)) == 0);
  ARMCI_Create_mutexes(1);
  if (armci_msg_me() == 1) ARMCI_Lock(0, 0);
  ARMCI_Barrier();
  if (armci_msg_me() == 1) {
    usleep(300000);
    kill(getpid(), SIGKILL);
  }
  if (strcmp(what, "lock") == 0) ARMCI_Lock(0, 0);
  if (strcmp(what, "look") == 0)
    while (ARMCI_GetValueLong(words[armci_msg_me()], armci_msg_me()) != 1) {
    }
  if (strcmp(what, "barrier") == 0) ARMCI_Barrier();
  ARMCI_Finalize();
  MPI_Finalize();
  return 0;
}
