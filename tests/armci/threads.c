// SPDX-License-Identifier: BSD-3-Clause
// processes: 4
// Several threads at once: each with places, handles and shapes of its own, and all at the same numbers.
#include <pthread.h>
#include <stdlib.h>

#include "check.h"

enum { kThreads = 3, kRounds = 300, kCells = 64, kRow = 8 };

static int me, n;
static double* cells[16];
static long* numbers[16];

static void* run(void* which) {
  const int thread = (int)(long)which;
  double source[kCells], back[kCells];
  armci_hdl_t handle;
  ARMCI_INIT_HANDLE(&handle);
  for (int round = 1; round <= kRounds; ++round) {
    const int whom = (me + round) % n;
    double* const mine = cells[whom] + (me * kThreads + thread) * kCells;
    int stride = kRow * 8, count[2] = {8 * (1 + round % kRow), kCells / kRow};
    for (int i = 0; i < kCells; ++i) source[i] = round * 1000 + i, back[i] = 0;
    ARMCI_PutS(source, &stride, mine, &stride, count, 1, whom);
    if (round % 3 == 0) ARMCI_Fence(whom);
    ARMCI_NbGetS(mine, &stride, back, &stride, count, 1, whom, &handle);
    ARMCI_Wait(&handle);
    for (int i = 0; i < kCells; ++i) CHECK(back[i] == (i % kRow <= round % kRow ? source[i] : 0));
    long number, one = 1;
    ARMCI_Rmw(ARMCI_FETCH_AND_ADD_LONG, &number, numbers[whom], 1, whom);
    ARMCI_Acc(ARMCI_ACC_LNG, &one, &(long){3}, numbers[whom] + 1, sizeof(long), whom);
    ARMCI_Lock(0, whom);
    ARMCI_PutValueLong(ARMCI_GetValueLong(numbers[whom] + 2, whom) + 1, numbers[whom] + 2, whom);
    ARMCI_Fence(whom);
    ARMCI_Unlock(0, whom);
  }
  return NULL;
}

int main(int argc, char** argv) {
  int level;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  ARMCI_Init_thread(MPI_THREAD_MULTIPLE);
  me = armci_msg_me(), n = armci_msg_nproc();
  ARMCI_Malloc((void**)cells, n * kThreads * kCells * sizeof(double));
  ARMCI_Malloc((void**)numbers, 3 * sizeof(long));
  ARMCI_Create_mutexes(1);
  pthread_t threads[kThreads];
  for (long t = 1; t < kThreads; ++t) pthread_create(&threads[t], NULL, run, (void*)t);
  run((void*)0);
  for (int t = 1; t < kThreads; ++t) pthread_join(threads[t], NULL);
  ARMCI_Barrier();
  const long all = (long)kThreads * kRounds;
  CHECK(level < MPI_THREAD_MULTIPLE || (numbers[me][0] == all && numbers[me][1] == 3 * all && numbers[me][2] == all));
  ARMCI_Destroy_mutexes();
  ARMCI_Free(numbers[me]);
  ARMCI_Free(cells[me]);
  ARMCI_Finalize();
  MPI_Finalize();
  return 0;
}
