/* SPDX-License-Identifier: BSD-3-Clause */
/* Many at once: worlds of so many processes, several communicators that spawn at the same time, and two threads of each
   rank that do.  crowd SIZE... Three ranks. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

static char* program;

/* A world of so many, which counts itself. */
static void visit(MPI_Comm from, int root, int processes) {
  MPI_Comm inter;
  char* words[] = {"child", NULL};
  int n, sum = 0, one = 0, me;
  int* codes = malloc(sizeof(int) * (size_t)processes);
  MPI_Comm_spawn(program, words, processes, MPI_INFO_NULL, root, from, &inter, codes);
  MPI_Comm_remote_size(inter, &n);
  MPI_Comm_rank(from, &me);
  CHECK(n == processes);
  for (int i = 0; i < processes; ++i) CHECK(codes[i] == MPI_SUCCESS);
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, inter);
  CHECK(sum == processes * (processes + 1) / 2);
  free(codes);
  MPI_Comm_disconnect(&inter);
}

static void* visit_alone(void* comm) {
  for (int i = 1; i < 4; ++i) visit(*(MPI_Comm*)comm, 0, i);
  return NULL;
}

int main(int argc, char** argv) {
  int level, rank, size;
  MPI_Comm parent, half, own[2];
  program = argv[0];
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  MPI_Comm_get_parent(&parent);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (parent != MPI_COMM_NULL) {
    int mine = rank + 1, nothing;
    MPI_Allreduce(&mine, &nothing, 1, MPI_INT, MPI_SUM, parent);
    MPI_Comm_disconnect(&parent);
    MPI_Finalize();
    return 0;
  }
  for (int i = 1; i < argc; ++i) visit(MPI_COMM_WORLD, i % size, atoi(argv[i]));
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
  for (int i = 0; i < 3; ++i) visit(half, 0, 1 + i);
  for (int i = 0; i < 2; ++i) MPI_Comm_dup(MPI_COMM_SELF, &own[i]);
  pthread_t other;
  pthread_create(&other, NULL, visit_alone, &own[1]);
  visit_alone(&own[0]);
  pthread_join(other, NULL);
  for (int i = 0; i < 2; ++i) MPI_Comm_free(&own[i]);
  MPI_Comm_free(&half);
  return finish();
}
