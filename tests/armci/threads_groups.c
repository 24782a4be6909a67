// SPDX-License-Identifier: BSD-3-Clause
// processes: 2
// Threads look at groups while another one makes and frees them; a program that does so for ever does not grow: the
// handles of groups that were freed are given again.
#include <pthread.h>
#include <stdlib.h>

#include "check.h"

enum { kLookers = 3, kRounds = 20000, kHandles = 4096 };

static int stop, me, n;

static void* look(void* unused) {
  while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
    ARMCI_Group all, mine;
    int rank = -5, size = -5;
    ARMCI_Group_get_world(&all);
    ARMCI_Group_rank(&all, &rank);
    ARMCI_Group_size(&all, &size);
    ARMCI_Group_get_default(&mine);
    CHECK(rank == me && size == n && mine == all && ARMCI_Absolute_id(&all, me) == me);
  }
  return unused;
}

static int compare(const void* a, const void* b) {
  const ARMCI_Group x = *(const ARMCI_Group*)a, y = *(const ARMCI_Group*)b;
  return x < y ? -1 : x > y;
}

int main(int argc, char** argv) {
  int level;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  ARMCI_Init_thread(MPI_THREAD_MULTIPLE);
  me = armci_msg_me(), n = armci_msg_nproc();
  pthread_t lookers[kLookers];
  const int count = level < MPI_THREAD_MULTIPLE ? 0 : kLookers;
  for (int i = 0; i < count; ++i) pthread_create(&lookers[i], NULL, look, NULL);
  static ARMCI_Group seen[kRounds];
  for (int i = 0; i < kRounds; ++i) {
    int rank = -1, alone = me;
    ARMCI_Group group;
    ARMCI_Group_create(1, &alone, &group);
    seen[i] = group;
    CHECK(group > 0 && ARMCI_Group_rank(&group, &rank) == 0 && rank == 0);
    ARMCI_Group_free(&group);
    CHECK(group == -1);
  }
  __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
  for (int i = 0; i < count; ++i) pthread_join(lookers[i], NULL);
  qsort(seen, kRounds, sizeof seen[0], compare);
  int handles = 1;
  for (int i = 1; i < kRounds; ++i) handles += seen[i] != seen[i - 1];
  CHECK(handles <= kHandles);
  ARMCI_Finalize();
  MPI_Finalize();
  return 0;
}
