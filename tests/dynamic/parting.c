/* SPDX-License-Identifier: BSD-3-Clause */
/* Worlds that have parted are nothing to each other: children that die the moment they have disconnected cost their
   parents nothing, whichever communicator of three worlds went first.  parting [rounds]. Two ranks. */
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"

static void spawn(char* program, char* word, MPI_Comm from, MPI_Comm* inter) {
  char* words[] = {word, NULL};
  MPI_Comm_spawn(program, words, 3, MPI_INFO_NULL, 0, from, inter, MPI_ERRCODES_IGNORE);
}

/* The end of the communicator keeps the parents' root until a child is dead that has parted already: the launcher has
   to know by then. */
static int keep_until_dead(MPI_Comm comm, int key, void* pid, void* extra) {
  (void)comm, (void)key, (void)extra;
  while (kill(*(int*)pid, 0) == 0) sched_yield();
  return MPI_SUCCESS;
}

static void part_from_dead(MPI_Comm inter, int is_child, int rank) {
  int key, first = (int)getpid();
  MPI_Bcast(&first, 1, MPI_INT, is_child ? (rank == 1 ? MPI_ROOT : MPI_PROC_NULL) : 1, inter);
  if (!is_child && rank == 0) {
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, keep_until_dead, &key, NULL);
    MPI_Comm_set_attr(inter, key, &first);
    MPI_Comm_free_keyval(&key);
  }
  MPI_Comm_disconnect(&inter);
  if (is_child) raise(SIGKILL);
}

int main(int argc, char** argv) {
  int rank;
  MPI_Comm parent, one, other, both;
  MPI_Init(&argc, &argv);
  MPI_Comm_get_parent(&parent);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (parent != MPI_COMM_NULL) {
    if (strcmp(argv[1], "first") == 0) part_from_dead(parent, 1, rank);
    if (strcmp(argv[1], "simple") == 0) {
      MPI_Comm_disconnect(&parent);
      raise(SIGKILL);
    }
    if (strcmp(argv[1], "older") == 0) {
      MPI_Intercomm_merge(parent, 1, &both);
      spawn(argv[0], "younger", both, &other);
      MPI_Comm_disconnect(&both);
      MPI_Comm_disconnect(&parent);
      MPI_Comm_disconnect(&other);
      raise(SIGKILL);
    }
    MPI_Comm_disconnect(&parent);
    raise(SIGKILL);
  }
  const int rounds = argc > 1 ? atoi(argv[1]) : 5;
  spawn(argv[0], "first", MPI_COMM_WORLD, &one);
  part_from_dead(one, 0, rank);
  for (int round = 0; round < rounds; ++round) {
    spawn(argv[0], "simple", MPI_COMM_WORLD, &one);
    MPI_Comm_disconnect(&one);
    /* The two elder worlds meet first, and part first; the youngest holds all three together until the end. */
    spawn(argv[0], "older", MPI_COMM_WORLD, &one);
    MPI_Intercomm_merge(one, 0, &both);
    spawn(argv[0], "younger", both, &other);
    MPI_Comm_disconnect(&both);
    MPI_Comm_disconnect(&one);
    MPI_Comm_disconnect(&other);
  }
  return finish();
}
