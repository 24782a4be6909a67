/* Worlds that have parted are nothing to each other: children that die the moment they have disconnected cost their
   parents nothing, whichever communicator of three worlds went first.  parting [rounds]. Two ranks. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

static void spawn(char* program, char* word, MPI_Comm from, MPI_Comm* inter) {
  char* words[] = {word, NULL};
  MPI_Comm_spawn(program, words, 3, MPI_INFO_NULL, 0, from, inter, MPI_ERRCODES_IGNORE);
}

int main(int argc, char** argv) {
  MPI_Comm parent, one, other, both;
  MPI_Init(&argc, &argv);
  MPI_Comm_get_parent(&parent);
  if (parent != MPI_COMM_NULL) {
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
