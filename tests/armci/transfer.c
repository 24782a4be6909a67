// SPDX-License-Identifier: BSD-3-Clause
// processes: 4
// Put and get, in one piece, strided and of many pieces, waited for and not, with values and with flags.
#include <stdlib.h>
#include <string.h>

#include "check.h"

enum { kRow = 64, kRows = 40, kPlanes = 6, kCells = kRow * kRows * kPlanes, kLong = 1 << 20 };

static int me, n, next, before;
static double* memory[16];
static double mine[kCells], back[kCells];

static void mark(void) {
  for (int i = 0; i < kCells; ++i) memory[me][i] = -1;
  ARMCI_Barrier();
}

static void in_one_piece(void) {
  static const int kSizes[] = {1, 7, 8, 64, 65, 1000, kCells};  // doubles: around what is gathered, and what is not
  for (unsigned s = 0; s < sizeof kSizes / sizeof *kSizes; ++s) {
    const int cells = kSizes[s], at = (kCells - cells) / 2, bytes = cells * (int)sizeof(double);
    mark();
    for (int i = 0; i < cells; ++i) mine[i] = me * 1000000. + i;
    ARMCI_Put(mine, memory[next] + at, bytes, next);
    memset(mine, 0, sizeof mine);
    /* What one process does to one place is in order, fence or not. */
    ARMCI_Get(memory[next] + at, back, bytes, next);
    for (int i = 0; i < cells; ++i) CHECK(back[i] == me * 1000000. + i);
    ARMCI_Barrier();
    for (int i = 0; i < kCells; ++i)
      CHECK(memory[me][i] == (i < at || i >= at + cells ? -1 : before * 1000000. + (i - at)));
    ARMCI_Barrier();
  }
}

/* A box of kPlanes - 1 planes, `rows` rows, `row` cells: of the whole array here, to the middle of that there. */
static void strided(int row, int rows) {
  int here[2] = {kRow * 8, kRow * kRows * 8}, there[2] = {kRow * 8, kRow * kRows * 8};
  int count[3] = {row * 8, rows, kPlanes - 1};
  double* const from = mine + 1;
  mark();
  for (int i = 0; i < kCells; ++i) mine[i] = me * 1000000. + i, back[i] = -2;
  double* const to = memory[next] + kRow + 2;
  armci_hdl_t handle;
  ARMCI_INIT_HANDLE(&handle);
  ARMCI_NbPutS(from, here, to, there, count, 2, next, &handle);
  ARMCI_Wait(&handle);
  CHECK(ARMCI_Test(&handle) == 0);
  /* Back to other distances: the rows one behind the other. */
  int close[2] = {count[0], count[0] * rows};
  ARMCI_NbGetS(to, there, back, close, count, 2, next, &handle);
  while (ARMCI_Test(&handle)) continue;
  for (int p = 0; p < kPlanes - 1; ++p)
    for (int r = 0; r < rows; ++r)
      for (int c = 0; c < row; ++c)
        CHECK(back[(p * rows + r) * row + c] == me * 1000000. + 1 + (p * kRows + r) * kRow + c);
  CHECK(back[(kPlanes - 1) * rows * row] == -2);
  ARMCI_Barrier();
  for (int i = 0; i < kCells; ++i) {
    const int j = i - kRow - 2, c = j % kRow, r = j / kRow % kRows, p = j / kRow / kRows;
    const int inside = j >= 0 && c < row && r < rows && p < kPlanes - 1;
    CHECK(memory[me][i] == (inside ? before * 1000000. + 1 + j : -1));
  }
  ARMCI_Barrier();
}

/* Every third cell of two lists of other lengths. */
static void of_many_pieces(void) {
  enum { kPieces = 50 };
  void *from[2][kPieces], *to[2][kPieces], *into[2][kPieces];
  armci_giov_t put[2], get[2];
  mark();
  for (int i = 0; i < kCells; ++i) mine[i] = me * 1000000. + i, back[i] = -2;
  for (int v = 0; v < 2; ++v) {
    for (int i = 0; i < kPieces; ++i) {
      from[v][i] = mine + 1000 * v + i * 10;
      to[v][i] = memory[next] + 1000 * v + i * 3 * (v + 1);
      into[v][i] = back + 1000 * v + i * (v + 1);
    }
    put[v] = (armci_giov_t){from[v], to[v], 8 * (v + 1), kPieces};
    get[v] = (armci_giov_t){to[v], into[v], 8 * (v + 1), kPieces};
  }
  ARMCI_PutV(put, 2, next);
  ARMCI_GetV(get, 2, next);
  for (int i = 0; i < kPieces; ++i) {
    CHECK(back[i] == me * 1000000. + i * 10);
    CHECK(back[1000 + 2 * i] == me * 1000000. + 1000 + i * 10 && back[1001 + 2 * i] == me * 1000000. + 1001 + i * 10);
  }
  ARMCI_Barrier();
  for (int i = 0; i < 3 * kPieces; ++i) CHECK(memory[me][i] == (i % 3 ? -1 : before * 1000000. + i / 3 * 10));
  ARMCI_Barrier();
}

static void without_waiting(void) {
  armci_hdl_t each[4], all;
  mark();
  ARMCI_SET_AGGREGATE_HANDLE(&all);
  for (int i = 0; i < 4; ++i) {
    ARMCI_INIT_HANDLE(&each[i]);
    for (int j = 0; j < 1000; ++j) mine[1000 * i + j] = me + i * 10;
    ARMCI_NbPut(mine + 1000 * i, memory[next] + 1000 * i, 8000, next, i < 2 ? &each[i] : i == 2 ? &all : NULL);
  }
  ARMCI_NbPutValueDouble(77 + me, memory[next] + 5000, next, &all);
  ARMCI_Wait(&each[1]);
  ARMCI_Wait(&each[0]);
  ARMCI_Wait(&all);
  ARMCI_WaitAll();
  memset(mine, 0, sizeof mine);
  ARMCI_Fence(next);
  CHECK(ARMCI_GetValueDouble(memory[next] + 5000, next) == 77 + me);
  ARMCI_Barrier();
  for (int i = 0; i < 4000; ++i) CHECK(memory[me][i] == before + i / 1000 * 10);
  for (int i = 0; i < 4; ++i) ARMCI_NbGet(memory[next] + 1000 * i, back + 1000 * i, 8000, next, i ? &all : NULL);
  ARMCI_Wait(&all);
  ARMCI_WaitProc(next);
  for (int i = 0; i < 4000; ++i) CHECK(back[i] == me + i / 1000 * 10);
  ARMCI_Barrier();
}

/* A flag is there no sooner than its data, in the same allocation or in another one. */
static void flags(void) {
  void* flag[16];
  ARMCI_Malloc(flag, 2 * sizeof(int));
  volatile int* const of_mine = flag[me];
  for (int round = 1; round <= 100; ++round) {
    int stride = kRow * 8, count[2] = {8, kRows};
    for (int i = 0; i < kCells; ++i) mine[i] = round;
    if (round % 2)
      ARMCI_Put_flag(mine, memory[next], 8 * 1000, (int*)flag[next], round, next);
    else
      ARMCI_PutS_flag(mine, &stride, memory[next], &stride, count, 1, (int*)flag[next], round, next);
    while (*of_mine < round) armci_msg_nproc(), ARMCI_GetValueInt(flag[me], me);
    for (int i = 0; i < kRows; ++i) CHECK(memory[me][round % 2 ? i : i * kRow] == round);
    ARMCI_Barrier();
  }
  ARMCI_Free(flag[me]);
}

static void long_ones(void) {
  void* all[16];
  /* Only every other process has memory of its own. */
  ARMCI_Malloc(all, me % 2 ? 0 : kLong);
  for (int i = 0; i < n; ++i) CHECK((all[i] != NULL) == (i % 2 == 0));
  char* const source = ARMCI_Malloc_local(kLong);
  if (me % 4 == 1) {
    for (int i = 0; i < kLong; ++i) source[i] = (char)(i * 7 + me);
    ARMCI_Put(source, all[(me + 1) % n], kLong, (me + 1) % n);
    memset(source, 0, kLong);
    ARMCI_Get(all[(me + 1) % n], source, kLong, (me + 1) % n);
    for (int i = 0; i < kLong; ++i) CHECK(source[i] == (char)(i * 7 + me));
  }
  ARMCI_Barrier();
  if (me % 4 == 2)
    for (int i = 0; i < kLong; ++i) CHECK(((char*)all[me])[i] == (char)(i * 7 + me - 1));
  ARMCI_Free_local(source);
  ARMCI_Free(all[me]);
}

int main(void) {
  ARMCI_Init();
  me = armci_msg_me(), n = armci_msg_nproc();
  next = (me + 1) % n, before = (me + n - 1) % n;
  ARMCI_Malloc((void**)memory, kCells * sizeof(double));
  in_one_piece();
  strided(1, 16);
  strided(1, kRows - 1);
  strided(3, 7);
  strided(kRow - 3, kRows - 1);
  strided(kRow, kRows - 1);
  of_many_pieces();
  without_waiting();
  flags();
  long_ones();
  ARMCI_Free(memory[me]);
  CHECK(ARMCI_Initialized());
  ARMCI_Finalize();
  return 0;
}
