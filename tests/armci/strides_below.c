// SPDX-License-Identifier: BSD-3-Clause
// processes: 2
// fails with: ARMCI_PutS on process 0: 1556 bytes at 0x[0-9a-f]+ are not in what ARMCI_Malloc has given process 1
#include "check.h"

/* The second and third row lie below the allocation. */
int main(void) {
  void* all[2];
  ARMCI_Init();
  ARMCI_Malloc(all, 4096);
  if (armci_msg_me() == 0) {
    char data[20 * 4];
    int mine = 20, theirs = -512, count[2] = {20, 4};
    ARMCI_PutS(data, &mine, (char*)all[1] + 3 * 512, &theirs, count, 1, 1);
    ARMCI_PutS(data, &mine, (char*)all[1] + 512, &theirs, count, 1, 1);
  }
  ARMCI_Barrier();
  ARMCI_Finalize();
  return 0;
}
