// SPDX-License-Identifier: BSD-3-Clause
// processes: 2
// fails with: ARMCI_Put on process 0: 8 bytes at 0x[0-9a-f]+ are not in what ARMCI_Malloc has given process 1
#include "check.h"

int main(void) {
  void* all[2];
  ARMCI_Init();
  ARMCI_Malloc(all, 1000);
  if (armci_msg_me() == 0) {
    double value = 1;
    ARMCI_Put(&value, (char*)all[1] + 992, 8, 1);
    ARMCI_Put(&value, (char*)all[1] + 996, 8, 1);
  }
  ARMCI_Barrier();
  ARMCI_Finalize();
  return 0;
}
