// SPDX-License-Identifier: BSD-3-Clause
// pes: 2
// Fork handlers of the program, which write to its static memory: those that were registered before shmem_init, and by
// a constructor; a lock that they hold across the fork, as those of an allocator do.
#define _DEFAULT_SOURCE
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

enum { kForks = 50 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int forks, early_forks, children, early_children;
static int stop, holders, shared_holds;
static long first, second;

static void lock(void) {
  pthread_mutex_lock(&mutex);
  ++forks;
}
static void unlock_late(void) {
  usleep(1000); /* meanwhile the child runs its own handler */
  pthread_mutex_unlock(&mutex);
}
static void unlock_in_child(void) {
  ++children;
  pthread_mutex_unlock(&mutex);
}

static void note_fork(void) {
  ++early_forks;
}
static void note_child(void) {
  ++early_children;
}
__attribute__((constructor)) static void watch(void) {
  pthread_atfork(note_fork, NULL, note_child);
}

static void* work(void* unused) {
  while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
    pthread_mutex_lock(&mutex);
    if (__atomic_add_fetch(&holders, 1, __ATOMIC_SEQ_CST) != 1) ++shared_holds;
    ++first;
    for (volatile int i = 0; i < 200; ++i) {
    }
    ++second;
    __atomic_sub_fetch(&holders, 1, __ATOMIC_SEQ_CST);
    pthread_mutex_unlock(&mutex);
  }
  return unused;
}

/* What a child, which was the n-th, and its own child see. */
static int is_right(int n, int generation) {
  return forks == n + generation - 1 && early_forks == forks && children == generation &&
         early_children == generation && first == second && pthread_mutex_trylock(&mutex) == 0 &&
         pthread_mutex_unlock(&mutex) == 0;
}

static int has_ended_well(pid_t child) {
  int status = -1;
  return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

int main(void) {
  pthread_atfork(lock, unlock_late, unlock_in_child);
  shmem_init();
  pthread_t threads[2];
  for (int i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, work, NULL);
  for (int n = 1; n <= kForks; ++n) {
    const pid_t child = fork();
    if (child == 0) {
      if (!is_right(n, 1)) _exit(1);
      const pid_t grandchild = fork();
      if (grandchild == 0) _exit(is_right(n, 2) ? 0 : 1);
      _exit(has_ended_well(grandchild) && children == 1 ? 0 : 2);
    }
    CHECK(has_ended_well(child));
    CHECK(forks == n && early_forks == n && children == 0 && early_children == 0);
  }
  __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  CHECK(shared_holds == 0 && first == second);
  shmem_barrier_all();
  shmem_finalize();
  return 0;
}
