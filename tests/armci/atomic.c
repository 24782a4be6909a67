// SPDX-License-Identifier: BSD-3-Clause
// processes: 4
// Accumulates, read-modify-write and mutexes of all processes at the same place.
#include <complex.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

enum { kRounds = 2000, kCells = 600, kRow = 20 };

static int me, n;

/* What all have added to each element: kRounds times scale * (i + 1), whole numbers. */
#define ACCUMULATES(T, type, factor)                                                           \
  static void add_##type(void) {                                                               \
    void* all[16];                                                                             \
    T *mine = malloc(kCells * sizeof(T)), scale = factor, one = 1;                             \
    ARMCI_Malloc(all, kCells * sizeof(T));                                                     \
    for (int i = 0; i < kCells; ++i) mine[i] = i + 1, ((T*)all[me])[i] = 5;                    \
    ARMCI_Barrier();                                                                           \
    for (int round = 0; round < kRounds; ++round) {                                            \
      const int whom = (me + round) % 2 * (n - 1); /* the first or the last */                 \
      int stride = 2 * kRow * sizeof(T), count[2] = {kRow * sizeof(T), kCells / kRow / 2};     \
      ARMCI_AccS(ARMCI_ACC_##type, &scale, mine, &stride, all[whom], &stride, count, 1, whom); \
      armci_giov_t rest;                                                                       \
      void *from[kCells / kRow / 2], *to[kCells / kRow / 2];                                   \
      for (int i = 0; i < kCells / kRow / 2; ++i) {                                            \
        from[i] = mine + (2 * i + 1) * kRow;                                                   \
        to[i] = (T*)all[whom] + (2 * i + 1) * kRow;                                            \
      }                                                                                        \
      rest = (armci_giov_t){from, to, kRow * sizeof(T), kCells / kRow / 2};                    \
      ARMCI_AccV(ARMCI_ACC_##type, &scale, &rest, 1, whom);                                    \
      ARMCI_Acc(ARMCI_ACC_##type, &one, mine, all[whom], kCells * sizeof(T), whom);            \
      ARMCI_NbAcc(ARMCI_ACC_##type, &scale, mine, all[whom], sizeof(T), whom, NULL);           \
    }                                                                                          \
    ARMCI_Barrier();                                                                           \
    if (me == 0 || me == n - 1)                                                                \
      for (int i = 0; i < kCells; ++i) {                                                       \
        const T each = (scale + one) * (T)(i + 1) + (i == 0 ? scale : 0);                      \
        CHECK(((T*)all[me])[i] == (T)5 + (T)(n * kRounds / 2) * each);                         \
      }                                                                                        \
    ARMCI_Barrier();                                                                           \
    ARMCI_Free(all[me]);                                                                       \
    free(mine);                                                                                \
  }
ACCUMULATES(int, INT, 3)
ACCUMULATES(long, LNG, -7)
ACCUMULATES(float, FLT, 0.5f)
ACCUMULATES(double, DBL, -3)
ACCUMULATES(float complex, CPL, 2 + 0.5f * I)
ACCUMULATES(double complex, DCP, 3 - 2 * I)

/* Each number is drawn once, whoever draws it; what is swapped away is the one swapped in before. */
static void read_modify_write(void) {
  enum { kDraws = 200 };
  void* all[16];
  ARMCI_Malloc(all, 4 * sizeof(long));
  memset(all[me], 0, 4 * sizeof(long));
  ARMCI_Barrier();
  const int whom = n - 1;
  char* const drawn = calloc(kDraws * n, 1);
  long last = -1;
  for (int i = 0; i < kDraws; ++i) {
    int number;
    ARMCI_Rmw(ARMCI_FETCH_AND_ADD, &number, all[whom], 1, whom);
    CHECK(number >= 0 && number < kDraws * n && number > last);
    last = number;
    drawn[number] = 1;
  }
  long sum = 0, in = me + 1;
  ARMCI_Rmw(ARMCI_FETCH_AND_ADD_LONG, &sum, (long*)all[whom] + 1, -3, whom);
  ARMCI_Rmw(ARMCI_SWAP_LONG, &in, (long*)all[whom] + 2, 0, whom);
  int times[2] = {0, 0}, swapped = me + 1;
  ARMCI_Rmw(ARMCI_SWAP, &swapped, (int*)all[me] + 6, 0, me);
  CHECK(swapped == 0 && ((int*)all[me])[6] == me + 1 && ((int*)all[me])[7] == 0);
  for (int i = 0; i < kDraws * n; ++i) times[0] += drawn[i];
  long left = in;
  armci_msg_lgop(&left, 1, "+");
  armci_msg_igop(times, 2, "+");
  CHECK(times[0] == kDraws * n);
  ARMCI_Barrier();
  if (me == whom) {
    CHECK(((long*)all[me])[1] == -3L * n);
    CHECK(left + ((long*)all[me])[2] == (long)n * (n + 1) / 2);
  }
  ARMCI_Barrier();
  free(drawn);
  ARMCI_Free(all[me]);
}

static void mutexes(void) {
  enum { kTimes = 100 };
  void* all[16];
  ARMCI_Malloc(all, sizeof(long));
  *(long*)all[me] = 0;
  ARMCI_Create_mutexes(me == 0 ? 3 : 1);
  ARMCI_Barrier();
  for (int i = 0; i < kTimes; ++i) {
    const int whom = i % n, mutex = whom == 0 ? 2 : 0;
    ARMCI_Lock(mutex, whom);
    const long value = ARMCI_GetValueLong(all[whom], whom);
    ARMCI_PutValueLong(value + 1, all[whom], whom);
    ARMCI_Fence(whom);
    ARMCI_Unlock(mutex, whom);
  }
  ARMCI_Barrier();
  CHECK(*(long*)all[me] == (long)kTimes / n * n);
  ARMCI_Destroy_mutexes();
  ARMCI_Free(all[me]);
}

int main(void) {
  ARMCI_Init();
  me = armci_msg_me(), n = armci_msg_nproc();
  add_INT();
  add_LNG();
  add_FLT();
  add_DBL();
  add_CPL();
  add_DCP();
  read_modify_write();
  mutexes();
  ARMCI_Finalize();
  return 0;
}
