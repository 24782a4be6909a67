// SPDX-License-Identifier: BSD-3-Clause
// pes: 4
// Static memory of more libraries than PEs reach directly, which the PEs open in different orders and close again; what
// their children see of it.
#define _DEFAULT_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

enum { kLibraries = 20 };

static void* handles[kLibraries];
static long* words[kLibraries];
static long here;

/* A library of its own, though it is made of the same file: a copy of another name, which is gone when it is loaded. */
static void load(const char* folder, int i) {
  char name[64];
  snprintf(name, sizeof name, "%s/words_%d.so", folder, i);
  FILE* const from = fopen(SHMEM_TEST_LIBRARY, "rb");
  FILE* const to = fopen(name, "wb");
  if (!from || !to) exit(4);
  char bytes[4096];
  for (size_t n; (n = fread(bytes, 1, sizeof bytes, from)) > 0;)
    if (fwrite(bytes, 1, n, to) != n) exit(4);
  fclose(from);
  if (fclose(to) != 0) exit(4);
  handles[i] = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  unlink(name);
  if (!handles[i]) {
    fprintf(stderr, "%s\n", dlerror());
    exit(4);
  }
  *(void**)&words[i] = dlsym(handles[i], "library_words");
}

static void load_all(int backwards) {
  char folder[] = "/tmp/rmq_shmem_XXXXXX";
  if (!mkdtemp(folder)) exit(4);
  for (int i = 0; i < kLibraries; ++i) load(folder, backwards ? kLibraries - 1 - i : i);
  rmdir(folder);
}

/* Children have what was there when they were forked, and change their own. */
static void fork_some(void) {
  for (int round = 0; round < 20; ++round) {
    here = round;
    words[0][5] = words[kLibraries - 1][5] = -round;
    const pid_t child = fork();
    if (child == 0) {
      const int right = here == round && words[0][5] == -round && words[kLibraries - 1][5] == -round;
      here = words[0][5] = -1000;
      _exit(right ? 0 : 1);
    }
    here = words[0][5] = words[kLibraries - 1][5] = 1000;
    int status = -1;
    CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
    CHECK(here == 1000 && words[0][5] == 1000);
  }
}

int main(void) {
  load_all(atoi(getenv("RMQ_RANK")) % 2);
  shmem_init();
  const int me = shmem_my_pe(), n = shmem_n_pes(), next = (me + 1) % n, last = (me + n - 1) % n;
  for (int i = 0; i < kLibraries; ++i) {
    CHECK(shmem_addr_accessible(words[i], next) && shmem_ptr(words[i], me) == words[i]);
    if (i % 2 == 0) CHECK(dlclose(handles[i]) == 0); /* others put there */
  }
  for (int i = 0; i < kLibraries; ++i) {
    shmem_p(&words[i][1], (long)(me + 100 * i), next);
    shmem_atomic_add(&words[i][2], (long)(me + 1), next);
    shmem_atomic_add(&words[i][2], 1000L, me);
  }
  shmem_barrier_all();
  for (int i = 0; i < kLibraries; ++i)
    CHECK(words[i][1] == last + 100 * i && words[i][2] == last + 1001 && words[i][0] == 7);
  fork_some();
  shmem_barrier_all();
  shmem_finalize();
  return 0;
}
