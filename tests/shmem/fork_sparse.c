// SPDX-License-Identifier: BSD-3-Clause
// pes: 2
// A fork looks at no page of static memory that the program has not used: such a page would have memory from then on.
#define _DEFAULT_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

enum { kBytes = 512 << 20, kUsed = 3 << 20 };

static volatile char big[kBytes];

/* Memory of files that the process has in use, kB. */
static long shared_memory(void) {
  char line[256];
  long found = 0;
  FILE* const status = fopen("/proc/self/status", "r");
  while (status && fgets(line, sizeof line, status))
    if (strncmp(line, "RssShmem:", 9) == 0) found = atol(line + 9);
  if (status) fclose(status);
  return found;
}

int main(void) {
  big[5] = 1;
  shmem_init();
  big[kUsed] = 2;
  big[kBytes - 1] = 3;
  const long before = shared_memory();
  for (int i = 0; i < 3; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      const int right = big[5] == 1 && big[kUsed] == 2 && big[kBytes - 1] == 3 && big[kBytes / 2] == 0;
      big[kUsed] = 9;
      _exit(right ? 0 : 1);
    }
    int status = -1;
    CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
    CHECK(big[kUsed] == 2);
  }
  CHECK(shared_memory() - before < 16 * 1024);
  shmem_barrier_all();
  shmem_finalize();
  return 0;
}
