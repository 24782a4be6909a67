// SPDX-License-Identifier: BSD-3-Clause
// PE 1 dies in a job that goes on when ranks die: whatever the others do (argument), it ends them.
#define _DEFAULT_SOURCE
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../check.h"

static long lock, word;

int main(int argc, char** argv) {
  const char* const what = argc > 1 ? argv[1] : "";
  shmem_init();
  if (shmem_my_pe() == 1) shmem_set_lock(&lock);
  shmem_barrier_all();
  if (shmem_my_pe() == 1) {
    usleep(300000);
    kill(getpid(), SIGKILL);
  }
  if (strcmp(what, "lock") == 0) shmem_set_lock(&lock);
  if (strcmp(what, "test_lock") == 0)
    while (shmem_test_lock(&lock) != 0) {
    }
  if (strcmp(what, "wait") == 0) shmem_wait_until(&word, SHMEM_CMP_EQ, 1);
  if (strcmp(what, "test") == 0)
    while (!shmem_test(&word, SHMEM_CMP_EQ, 1)) {
    }
  if (strcmp(what, "barrier") == 0) shmem_barrier_all();
  if (strcmp(what, "finalize") == 0) shmem_finalize();
  return 0;
}
