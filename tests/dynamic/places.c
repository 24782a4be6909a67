// SPDX-License-Identifier: BSD-3-Clause
// Children on hosts that the parents name, or have slots left on. Pairs of arguments: the info key host (- for none),
// and where the children are to be, in the order of their ranks. Parents and children of all hosts talk to each other,
// and each side finds out who shares a host.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kName = MPI_MAX_PROCESSOR_NAME };

static void require(int good, const char* what) {
  if (good) return;
  fprintf(stderr, "places: %s\n", what);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

// Both sides of the inter-communicator, until they part.
static void talk(MPI_Comm inter, int is_child) {
  MPI_Comm all;
  MPI_Intercomm_merge(inter, is_child, &all);
  int rank, size;
  MPI_Comm_rank(all, &rank);
  MPI_Comm_size(all, &size);
  const long n = 20000;
  long *out = malloc((size_t)n * sizeof *out), *in = malloc((size_t)n * sizeof *in);
  for (int shift = 1; shift < size; ++shift) {  // short and long messages, each with each
    const int to = (rank + shift) % size, from = (rank - shift + size) % size;
    for (long length = 1; length <= n; length *= n) {
      for (long i = 0; i < length; ++i) out[i] = rank * n + i;
      MPI_Sendrecv(out, (int)length, MPI_LONG, to, 1, in, (int)length, MPI_LONG, from, 1, all, MPI_STATUS_IGNORE);
      for (long i = 0; i < length; ++i) require(in[i] == from * n + i, "a message is wrong");
    }
  }
  free(out);
  free(in);
  int one = 1, sum = 0;
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, all);
  require(sum == size, "the sum is wrong");
  MPI_Comm_free(&all);
}

static void spawn(const char* program, const char* host, const char* expected) {
  int n = 1, rank;
  for (const char* c = expected; *c; ++c) n += *c == ',';
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Info info = MPI_INFO_NULL;
  if (strcmp(host, "-") != 0) {
    MPI_Info_create(&info);
    MPI_Info_set(info, "host", host);
  }
  MPI_Comm children;
  int codes[64];
  require(n <= 64, "too many children");
  MPI_Comm_spawn(program, MPI_ARGV_NULL, n, info, 0, MPI_COMM_WORLD, &children, codes);
  char(*names)[kName] = calloc((size_t)n, kName), none[kName] = "";
  MPI_Gather(none, 0, MPI_CHAR, names, kName, MPI_CHAR, rank == 0 ? MPI_ROOT : MPI_PROC_NULL, children);
  if (rank == 0) {
    char found[64 * kName] = "";
    for (int i = 0; i < n; ++i) {
      if (i > 0) strcat(found, ",");
      strcat(found, names[i]);
    }
    if (strcmp(found, expected) != 0) fprintf(stderr, "places: host '%s': on %s, not on %s\n", host, found, expected);
    require(strcmp(found, expected) == 0, "children are elsewhere");
  }
  free(names);
  talk(children, 0);
  MPI_Comm_disconnect(&children);
  if (info != MPI_INFO_NULL) MPI_Info_free(&info);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm parent;
  MPI_Comm_get_parent(&parent);
  if (parent != MPI_COMM_NULL) {
    char name[kName] = "";
    int length;
    MPI_Get_processor_name(name, &length);
    MPI_Gather(name, kName, MPI_CHAR, NULL, 0, MPI_CHAR, 0, parent);
    talk(parent, 1);
    MPI_Comm_disconnect(&parent);
  } else {
    for (int i = 1; i + 1 < argc; i += 2) spawn(argv[0], argv[i], argv[i + 1]);
  }
  MPI_Finalize();
  return 0;
}
