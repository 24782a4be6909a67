// SPDX-License-Identifier: BSD-3-Clause
// processes: 2
// fails with: ARMCI_Put on process 0: 64 bytes at 0x[0-9a-f]+ are not in what ARMCI_Malloc has given process 0
#include "check.h"

/* A process may put to memory of its own that is in no allocation, but not beyond the end of one. */
int main(void) {
  void* all[2];
  static char own[64], data[64];
  ARMCI_Init();
  ARMCI_Malloc(all, 4096);
  if (armci_msg_me() == 0) {
    ARMCI_Put(data, own, 64, 0);
    ARMCI_Put(data, (char*)all[0] + 4032, 64, 0);
    ARMCI_Put(data, (char*)all[0] + 4088, 64, 0);
  }
  ARMCI_Barrier();
  ARMCI_Finalize();
  return 0;
}
