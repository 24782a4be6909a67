// SPDX-License-Identifier: BSD-3-Clause
// Many ranks: collectives, a window that every rank puts to and that all are locked in, and what each rank costs. Args:
// the most memory a rank may take on average, KB (a page that several ranks map counts in parts), and the most
// descriptors of any.
#include <dirent.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int rank, size, most_descriptors;
static long most_memory;

static long memory(void) {
  FILE* f = fopen("/proc/self/smaps_rollup", "r");
  char line[256];
  long kb = -1;
  while (f && fgets(line, sizeof line, f) && sscanf(line, "Pss: %ld", &kb) != 1) {
  }
  if (f) fclose(f);
  return kb;
}

static int descriptors(void) {
  int n = -3;  // itself, . and ..
  DIR* d = opendir("/proc/self/fd");
  while (d && readdir(d)) ++n;
  if (d) closedir(d);
  return n;
}

static void require(int good, const char* what) {
  if (good) return;
  fprintf(stderr, "rank %d: %s\n", rank, what);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static void weigh(const char* after) {
  long kb = memory(), sum = 0;
  int open = descriptors(), most = 0;
  MPI_Reduce(&kb, &sum, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
  MPI_Reduce(&open, &most, 1, MPI_INT, MPI_MAX, 0, MPI_COMM_WORLD);
  if (rank == 0) {
    printf("%s: %ld KB a rank, %d descriptors at most\n", after, sum / size, most);
    require(sum / size <= most_memory, "too much memory");
    require(most <= most_descriptors, "too many descriptors");
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char** argv) {
  enum { kPuts = 16 };
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  require(argc == 3, "expects the most memory and descriptors");
  most_memory = atol(argv[1]);
  most_descriptors = atoi(argv[2]);
  weigh("start");

  double one = 1, sum = 0;
  MPI_Allreduce(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  require(sum == size, "the sum is wrong");
  weigh("allreduce");

  long *out = malloc((size_t)size * sizeof *out), *in = malloc((size_t)size * sizeof *in);
  for (int i = 0; i < size; ++i) out[i] = (long)rank * size + i;
  MPI_Alltoall(out, 1, MPI_LONG, in, 1, MPI_LONG, MPI_COMM_WORLD);
  for (int i = 0; i < size; ++i) require(in[i] == (long)i * size + rank, "a block of the alltoall is wrong");
  free(out);
  free(in);
  weigh("alltoall");

  long *window, value = rank + 1;
  MPI_Win win;
  MPI_Win_allocate((kPuts + 1) * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &window, &win);
  MPI_Win_lock_all(0, win);
  for (int i = 1; i <= kPuts; ++i) MPI_Put(&value, 1, MPI_LONG, (int)((rank + 37L * i) % size), i, 1, MPI_LONG, win);
  MPI_Win_unlock_all(win);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 1; i <= kPuts; ++i) {
    const long from = ((rank - 37L * i) % size + size) % size;
    require(window[i] == from + 1, "a put is missing");
  }
  weigh("puts");
  MPI_Win_free(&win);
  MPI_Finalize();
  return 0;
}
