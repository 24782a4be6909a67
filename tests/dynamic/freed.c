/* SPDX-License-Identifier: BSD-3-Clause */
/* Worlds that were joined by communicators of which some are freed and others are disconnected: MPI_Finalize finds all
   whom it has to meet.  freed pairs ENDS | manager | nested WORLDS
     pairs    two ranks spawn a child each, and both families are joined. ENDS are three letters, of what is made last
              first: f, MPI_Comm_free, or d, MPI_Comm_disconnect.
     manager  one rank spawns two workers one after the other, and all three are joined.
     nested   a world that grows by one process at a time, as all of it spawn together. */
#include <stdlib.h>
#include <string.h>

#include "check.h"

static void end(MPI_Comm* c, char how) {
  if (how == 'f')
    MPI_Comm_free(c);
  else
    MPI_Comm_disconnect(c);
}

static void use(MPI_Comm c, int size) {
  int one = 1, sum = 0;
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, c);
  CHECK(sum == size);
}

static void pairs(char** argv, MPI_Comm parent) {
  MPI_Comm family = parent, pair, bridge, all;
  int rank, high = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (parent == MPI_COMM_NULL) {
    MPI_Comm_spawn(argv[0], argv + 1, 1, MPI_INFO_NULL, 0, MPI_COMM_SELF, &family, MPI_ERRCODES_IGNORE);
    high = rank;
  }
  MPI_Intercomm_merge(family, parent != MPI_COMM_NULL, &pair);
  MPI_Intercomm_create(pair, 0, MPI_COMM_WORLD, 1 - rank, 7, &bridge);
  MPI_Bcast(&high, 1, MPI_INT, 0, pair);
  MPI_Intercomm_merge(bridge, high, &all);
  use(all, 4);
  end(&all, argv[2][0]), end(&bridge, argv[2][1]), end(&pair, argv[2][2]);
  MPI_Comm_disconnect(&family);
}

static void manager(char** argv, MPI_Comm parent) {
  MPI_Comm first, second, pair = MPI_COMM_NULL, bridge, all;
  char* words[2][4] = {{argv[1], "-", "first", NULL}, {argv[1], "-", "second", NULL}};
  const int is_second = parent != MPI_COMM_NULL && strcmp(argv[3], "second") == 0;
  if (parent == MPI_COMM_NULL) {
    MPI_Comm_spawn(argv[0], words[0], 1, MPI_INFO_NULL, 0, MPI_COMM_SELF, &first, MPI_ERRCODES_IGNORE);
    MPI_Comm_spawn(argv[0], words[1], 1, MPI_INFO_NULL, 0, MPI_COMM_SELF, &second, MPI_ERRCODES_IGNORE);
    MPI_Intercomm_merge(first, 0, &pair);
    MPI_Intercomm_create(pair, 0, second, 0, 9, &bridge);
  } else if (!is_second) {
    MPI_Intercomm_merge(parent, 1, &pair);
    MPI_Intercomm_create(pair, 0, MPI_COMM_NULL, 0, 9, &bridge);
  } else {
    MPI_Intercomm_create(MPI_COMM_WORLD, 0, parent, 0, 9, &bridge);
  }
  MPI_Intercomm_merge(bridge, is_second, &all);
  use(all, 3);
  MPI_Comm_free(&all), MPI_Comm_free(&bridge);
  if (pair != MPI_COMM_NULL) MPI_Comm_free(&pair);
  if (parent != MPI_COMM_NULL) {
    MPI_Comm_disconnect(&parent);
  } else {
    MPI_Comm_disconnect(&first), MPI_Comm_disconnect(&second);
  }
}

static void nested(char** argv, MPI_Comm parent) {
  const int worlds = atoi(argv[2]);
  MPI_Comm* kept = malloc(sizeof(MPI_Comm) * 2 * (size_t)(worlds + 1));
  MPI_Comm all, inter = parent;
  int n = 0, size;
  if (parent == MPI_COMM_NULL) {
    MPI_Comm_dup(MPI_COMM_SELF, &all);
  } else {
    MPI_Intercomm_merge(parent, 1, &all);
    kept[n++] = parent;
  }
  for (MPI_Comm_size(all, &size); size < worlds; ++size) {
    kept[n++] = all;
    MPI_Comm_spawn(argv[0], argv + 1, 1, MPI_INFO_NULL, 0, all, &inter, MPI_ERRCODES_IGNORE);
    kept[n++] = inter;
    MPI_Intercomm_merge(inter, 0, &all);
  }
  use(all, worlds);
  MPI_Comm_disconnect(&all);
  while (n > 0) MPI_Comm_disconnect(&kept[--n]);
  free(kept);
}

int main(int argc, char** argv) {
  MPI_Comm parent;
  MPI_Init(&argc, &argv);
  MPI_Comm_get_parent(&parent);
  if (strcmp(argv[1], "pairs") == 0) pairs(argv, parent);
  if (strcmp(argv[1], "manager") == 0) manager(argv, parent);
  if (strcmp(argv[1], "nested") == 0) nested(argv, parent);
  return finish();
}
