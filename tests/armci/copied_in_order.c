// SPDX-License-Identifier: BSD-3-Clause
// processes: 2
// options: -x RMQ_SHM_HEAP=4K
// Memory that has no room in the heap is reached by packets, and long data perhaps by a copy between the processes: a
// long put lands on the short ones before it, and a long get sees them, while their target computes.
#include <string.h>

#include "check.h"

enum { kRounds = 300, kLongs = 8192, kShort = 20, kApart = 50 };

static long data[kLongs];

int main(void) {
  void* all[2];
  ARMCI_Init();
  ARMCI_Malloc(all, sizeof data);
  long* const there = all[1];
  long* const done = there + kLongs - 1;
  if (armci_msg_me() == 1) memset(there, 0, sizeof data);
  ARMCI_Barrier();
  if (armci_msg_me() == 0) {
    for (long i = 1; i <= kRounds; ++i) {
      long word = -i;
      for (int k = 0; k < kShort; ++k) ARMCI_Put(&word, there + k * kApart, sizeof word, 1);
      for (int k = 0; k < kLongs; ++k) data[k] = i;
      data[kLongs - 1] = 0;
      ARMCI_Put(data, there, sizeof data, 1);
      ARMCI_Fence(1);
      memset(data, 0, sizeof data);
      ARMCI_Get(there, data, sizeof data, 1);
      for (int k = 0; k < kLongs - 1; ++k) CHECK(data[k] == i);
      word = -7 * i;
      ARMCI_Put(&word, there + 77, sizeof word, 1);
      ARMCI_Get(there, data, sizeof data, 1);
      CHECK(data[77] == word);
    }
    const long end = 1;
    ARMCI_Put((void*)&end, done, sizeof end, 1);
    ARMCI_Fence(1);
  } else {
    while (__atomic_load_n(done, __ATOMIC_ACQUIRE) == 0) {
    }
  }
  ARMCI_Barrier();
  ARMCI_Finalize();
  return 0;
}
