// SPDX-License-Identifier: BSD-3-Clause
// processes: 3
// One thread makes and frees allocations while others put to what lies beside them, fence all, and wait for handles.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

enum { kThreads = 2, kRounds = 150, kLong = 50000, kShort = 64, kOther = 100000 };

static int stop, me, n;
static char* beside[kThreads][8];

static void* work(void* which) {
  const int thread = (int)(long)which;
  char* const source = malloc(kLong);
  char* const back = malloc(kLong);
  armci_hdl_t handle;
  ARMCI_INIT_HANDLE(&handle);
  for (int round = 0; !__atomic_load_n(&stop, __ATOMIC_RELAXED); ++round) {
    const int bytes = round % 3 ? kShort : kLong, whom = (me + round) % n;
    char* const mine = beside[thread][whom] + me * kLong;
    memset(source, round, bytes);
    ARMCI_Put(source, mine, bytes, whom);
    if (round % 2)
      ARMCI_Fence(whom);
    else
      ARMCI_AllFence();
    ARMCI_NbGet(mine, back, bytes, whom, &handle);
    ARMCI_Wait(&handle);
    CHECK(memcmp(source, back, bytes) == 0);
  }
  free(source);
  free(back);
  return NULL;
}

/* The memory of all is filled by the one before it. */
static void make_and_free(int round, char* source) {
  void* pieces[8];
  const int bytes = round % 2 ? kOther : 100, next = (me + 1) % n;
  armci_hdl_t handle;
  ARMCI_INIT_HANDLE(&handle);
  CHECK(ARMCI_Malloc(pieces, kOther) == 0);
  memset(source, round, kOther);
  ARMCI_NbPut(source, pieces[next], bytes, next, &handle);
  if (round % 3 == 0) ARMCI_WaitAll();
  if (round % 3 == 1) ARMCI_Wait(&handle);
  if (round % 5 == 0) {
    ARMCI_Barrier();
    CHECK(((char*)pieces[me])[50] == (char)round);
  }
  CHECK(ARMCI_Free(pieces[me]) == 0);
}

int main(int argc, char** argv) {
  int level;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  ARMCI_Init_thread(MPI_THREAD_MULTIPLE);
  me = armci_msg_me(), n = armci_msg_nproc();
  for (int t = 0; t < kThreads; ++t) ARMCI_Malloc((void**)beside[t], n * kLong);
  const int count = level < MPI_THREAD_MULTIPLE ? 0 : kThreads;
  pthread_t threads[kThreads];
  for (long t = 0; t < count; ++t) pthread_create(&threads[t], NULL, work, (void*)t);
  char* const source = malloc(kOther);
  for (int round = 0; round < kRounds; ++round) make_and_free(round, source);
  __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
  for (int t = 0; t < count; ++t) pthread_join(threads[t], NULL);
  ARMCI_Barrier();
  for (int t = 0; t < kThreads; ++t) ARMCI_Free(beside[t][me]);
  free(source);
  ARMCI_Finalize();
  MPI_Finalize();
  return 0;
}
