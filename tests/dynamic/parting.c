/* Worlds that have parted are nothing to each other: children that die the moment they have disconnected cost their
   parents nothing, whichever communicator of three worlds went first.  parting [rounds]. Two ranks. */
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

static void spawn(char* program, char* word, MPI_Comm from, MPI_Comm* inter) {
  char* words[] = {word, NULL};
  MPI_Comm_spawn(program, words, 3, MPI_INFO_NULL, 0, from, inter, MPI_ERRCODES_IGNORE);
}

/* A child stops the parents' root the moment it has parted itself, and dies. The root may not have said that they have
   parted; it goes on when the launcher has judged the child's death. */
static void part_from_stopped(MPI_Comm inter, int is_child, int rank) {
  int root = (int)getpid(), killer = (int)getpid();
  if (is_child) {
    MPI_Bcast(&root, 1, MPI_INT, 0, inter);
    MPI_Bcast(&killer, 1, MPI_INT, rank == 1 ? MPI_ROOT : MPI_PROC_NULL, inter);
  } else {
    MPI_Bcast(&root, 1, MPI_INT, rank == 0 ? MPI_ROOT : MPI_PROC_NULL, inter);
    MPI_Bcast(&root, 1, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Bcast(&killer, 1, MPI_INT, 1, inter);
  }
  const pid_t helper = !is_child && rank == 1 ? fork() : -1;
  if (helper == 0) {  // the rank itself may wait for the root
    while (kill(killer, 0) == 0) sched_yield();
    kill(root, SIGCONT);
    _exit(0);
  }
  MPI_Comm_disconnect(&inter);
  if (is_child && rank == 1) kill(root, SIGSTOP);
  if (is_child) raise(SIGKILL);
  if (helper > 0) waitpid(helper, NULL, 0);
}

int main(int argc, char** argv) {
  int rank;
  MPI_Comm parent, one, other, both;
  MPI_Init(&argc, &argv);
  MPI_Comm_get_parent(&parent);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (parent != MPI_COMM_NULL) {
    if (strcmp(argv[1], "stops") == 0) part_from_stopped(parent, 1, rank);
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
  for (int round = 0; round < 4 * rounds; ++round) {
    spawn(argv[0], "stops", MPI_COMM_WORLD, &one);
    part_from_stopped(one, 0, rank);
  }
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
