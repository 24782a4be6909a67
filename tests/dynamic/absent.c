/* SPDX-License-Identifier: BSD-3-Clause */
/* absent [HOST]: programs that cannot be started, all of them or one of several, here or on another host: an error that
   says why, the same at all ranks, for every process that was asked for; and the parents go on. */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "rmq_spawn.h"

enum { kRounds = 3 };

static int says(int code, const char* word) {
  char text[MPI_MAX_ERROR_STRING] = "";
  int length;
  MPI_Error_string(code, text, &length);
  return strstr(text, word) != NULL;
}

int main(int argc, char** argv) {
  int rank, codes[3], code;
  MPI_Comm inter;
  MPI_Info info, infos[2];
  char job[RMQ_JOB_NAME], nowhere[] = "/no/such/program", there[] = "true";
  char *commands[2] = {argv[0], nowhere}, *others[2] = {there, nowhere};
  const int one_two[2] = {1, 2};
  MPI_Init(&argc, &argv);
  if (was_spawned()) return 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  MPI_Info_create(&info);
  if (argc > 1) MPI_Info_set(info, "host", argv[1]);
  infos[0] = infos[1] = info;
  for (int root = 0; root < kRounds; ++root) {
    int size;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const int at = root % size;
    codes[0] = codes[1] = codes[2] = -1;
    code = MPI_Comm_spawn(nowhere, MPI_ARGV_NULL, 2, info, at, MPI_COMM_WORLD, &inter, codes);
    CHECK(class_of(code) == MPI_ERR_SPAWN && inter == MPI_COMM_NULL);
    CHECK(codes[0] == MPI_ERR_SPAWN && codes[1] == MPI_ERR_SPAWN && codes[2] == -1);
    CHECK(rank != at || says(code, nowhere));
    codes[0] = codes[1] = -1;
    code = MPI_Comm_spawn_multiple(2, commands, MPI_ARGVS_NULL, one_two, infos, at, MPI_COMM_WORLD, &inter, codes);
    CHECK(class_of(code) == MPI_ERR_SPAWN && inter == MPI_COMM_NULL);
    CHECK(codes[0] == MPI_ERR_SPAWN && codes[1] == MPI_ERR_SPAWN && codes[2] == MPI_ERR_SPAWN);
    CHECK(rank != at || says(code, nowhere));
    if (rank == 0) CHECK(class_of(rmq_start_job(2, others, NULL, one_two, infos, job)) == MPI_ERR_SPAWN);
    CHECK(MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 2, info, at, MPI_COMM_WORLD, &inter, codes) == MPI_SUCCESS);
    CHECK(codes[0] == MPI_SUCCESS && codes[1] == MPI_SUCCESS);
    if (inter != MPI_COMM_NULL) MPI_Comm_disconnect(&inter);
  }
  MPI_Info_free(&info);
  return finish();
}
