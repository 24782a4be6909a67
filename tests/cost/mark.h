/* SPDX-License-Identifier: BSD-3-Clause */
/* The marks between which count.cpp counts: BEGIN("<name>: <bound>") ... END(). */
#ifndef RMQ_TESTS_COST_MARK_H
#define RMQ_TESTS_COST_MARK_H

#include <fcntl.h>
#include <mpi.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define BEGIN(text) __asm__ volatile("int3" : : "a"(text) : "memory")
#define END() __asm__ volatile("int3" : : "a"(0) : "memory")

/* Where only some rounds count: a rank that is counted takes far longer for the same. */
#define BEGIN_IF(counts, text) \
  if (counts) BEGIN(text)
#define END_IF(counts) \
  if (counts) END()

/* How many messages rank 0 has sent, in memory of a file: rank 1 learns it without a call of MPI. A message that has
   been sent lies in the ring or in the socket of rank 1. */
static int* sent;

static inline void share_sent(int rank) {
  char name[] = "/tmp/cost.XXXXXX";
  int file = rank == 0 ? mkstemp(name) : -1;
  if (rank == 0 && (file < 0 || ftruncate(file, sizeof *sent) != 0)) MPI_Abort(MPI_COMM_WORLD, 1);
  MPI_Bcast(name, sizeof name, MPI_CHAR, 0, MPI_COMM_WORLD);
  if (rank != 0) file = open(name, O_RDWR);
  sent = mmap(0, sizeof *sent, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (sent == MAP_FAILED) MPI_Abort(MPI_COMM_WORLD, 1);
  close(file);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) unlink(name);
}
static inline void tell_sent(void) {
  __atomic_fetch_add(sent, 1, __ATOMIC_RELEASE);
}
static inline void wait_until_arrived(void) {
  static int messages;
  ++messages;
  while (__atomic_load_n(sent, __ATOMIC_ACQUIRE) < messages) sched_yield();
}

#endif
