/* SPDX-License-Identifier: BSD-3-Clause */
/* often WARM_UP ROUNDS BYTES: a program that spawns again and again does not grow, nor does its launcher: in so many
   rounds behind a warm-up, by so many bytes a round at most. One rank, under rmqrun. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"

/* Memory of a process that no file is behind, in bytes. */
static long grown(pid_t process) {
  char path[64], line[256];
  long kilobytes = -1;
  snprintf(path, sizeof path, "/proc/%d/status", (int)process);
  FILE* file = fopen(path, "r");
  while (file && fgets(line, sizeof line, file)) sscanf(line, "RssAnon: %ld", &kilobytes);
  if (file) fclose(file);
  return kilobytes * 1024;
}

static void spawn(const char* program, int fails) {
  MPI_Comm inter;
  int codes[2];
  const int code = MPI_Comm_spawn(fails ? "/no/such/program" : program, MPI_ARGV_NULL, 2, MPI_INFO_NULL, 0,
                                  MPI_COMM_SELF, &inter, codes);
  CHECK(class_of(code) == (fails ? MPI_ERR_SPAWN : MPI_SUCCESS));
  if (inter != MPI_COMM_NULL) MPI_Comm_disconnect(&inter);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  if (was_spawned()) return 0;
  if (argc != 4) return 2;
  const int warm_up = atoi(argv[1]), rounds = atoi(argv[2]);
  const long most = atol(argv[3]);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  long here = 0, launcher = 0;
  for (int round = 0; round < warm_up + rounds; ++round) {
    if (round == warm_up) here = grown(getpid()), launcher = grown(getppid());
    spawn(argv[0], round % 4 == 3);
  }
  here = (grown(getpid()) - here) / rounds, launcher = (grown(getppid()) - launcher) / rounds;
  printf("bytes a round: %ld here, %ld in the launcher\n", here, launcher);
  CHECK(here <= most && launcher <= most);
  return finish();
}
