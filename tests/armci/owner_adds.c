// SPDX-License-Identifier: BSD-3-Clause
// processes: 2
// The owner of a number adds to it without a pause while another does: where that comes by packets, a thread of the
// library executes it.
#include "check.h"

int main(void) {
  enum { kOwn = 3000000, kOther = 1000 };
  void* all[2];
  long before, one = 1;
  ARMCI_Init();
  ARMCI_Malloc(all, 2 * sizeof(long));
  const int me = armci_msg_me();
  long* const there = all[0];
  if (me == 0) there[0] = there[1] = 0;
  ARMCI_Barrier();
  for (int i = 0; i < (me == 0 ? kOwn : kOther); ++i) {
    ARMCI_Rmw(ARMCI_FETCH_AND_ADD_LONG, &before, &there[0], 1, 0);
    ARMCI_Acc(ARMCI_ACC_LNG, &one, &one, &there[1], sizeof one, 0);
  }
  ARMCI_Barrier();
  if (me == 0) {
    CHECK(there[0] == kOwn + kOther);
    CHECK(there[1] == kOwn + kOther);
  }
  ARMCI_Finalize();
  return 0;
}
