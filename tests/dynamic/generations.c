/* SPDX-License-Identifier: BSD-3-Clause */
/* A world that grows: all processes there are spawn two more, again and again, from a communicator of all, whose
   members come from as many jobs. Before that, the first one tries what must fail, and what the info keys say.

     generations [processes in the end] */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"

static void failures(void) {
  MPI_Comm none = MPI_COMM_SELF;
  char port[MPI_MAX_PORT_NAME], found[MPI_MAX_PORT_NAME], name[64];
  int codes[2];
  MPI_Info info;
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  CHECK(class_of(MPI_Comm_spawn("/nowhere/program", MPI_ARGV_NULL, 2, MPI_INFO_NULL, 0, MPI_COMM_SELF, &none, codes)) ==
        MPI_ERR_SPAWN);
  CHECK(none == MPI_COMM_NULL && codes[0] == MPI_ERR_SPAWN && codes[1] == MPI_ERR_SPAWN);
  CHECK(class_of(MPI_Comm_connect("no port", MPI_INFO_NULL, 0, MPI_COMM_SELF, &none)) == MPI_ERR_PORT);
  MPI_Open_port(MPI_INFO_NULL, port);
  MPI_Info_create(&info);
  MPI_Info_set(info, "timeout", "0.2");
  CHECK(class_of(MPI_Comm_accept(port, info, 0, MPI_COMM_SELF, &none)) == MPI_ERR_PORT);
  CHECK(class_of(MPI_Comm_connect(port, info, 0, MPI_COMM_SELF, &none)) == MPI_ERR_PORT);
  MPI_Info_free(&info);
  snprintf(name, sizeof name, "generations %d", (int)getpid());
  CHECK(class_of(MPI_Lookup_name(name, MPI_INFO_NULL, found)) == MPI_ERR_NAME);
  CHECK(MPI_Publish_name(name, MPI_INFO_NULL, port) == MPI_SUCCESS);
  CHECK(class_of(MPI_Publish_name(name, MPI_INFO_NULL, port)) == MPI_ERR_SERVICE);
  CHECK(MPI_Lookup_name(name, MPI_INFO_NULL, found) == MPI_SUCCESS && strcmp(found, port) == 0);
  CHECK(MPI_Unpublish_name(name, MPI_INFO_NULL, port) == MPI_SUCCESS);
  CHECK(class_of(MPI_Unpublish_name(name, MPI_INFO_NULL, port)) == MPI_ERR_SERVICE);
  MPI_Close_port(port);
  CHECK(class_of(MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &none)) == MPI_ERR_PORT);
  CHECK(class_of(MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &none)) == MPI_ERR_PORT);
}

static void keys(char* program) {
  MPI_Comm children;
  MPI_Info info;
  int size, codes[4];
  char told[256], *argv[] = {"keys", NULL};
  MPI_Info_create(&info);
  MPI_Info_set(info, "wdir", "/");
  MPI_Info_set(info, "env", "GENERATIONS=a value\nOTHER=2");
  MPI_Info_set(info, "soft", "0:7:3");
  MPI_Info_set(info, "host", "localhost");
  CHECK(MPI_Comm_spawn(program, argv, 4, info, 0, MPI_COMM_SELF, &children, codes) == MPI_SUCCESS);
  MPI_Comm_remote_size(children, &size);
  CHECK(size == 3 && codes[2] == MPI_SUCCESS && codes[3] == MPI_ERR_SPAWN);
  for (int r = 0; r < size; ++r) {
    MPI_Recv(told, sizeof told, MPI_CHAR, r, 0, children, MPI_STATUS_IGNORE);
    CHECK(strcmp(told, "/ a value 2") == 0);
  }
  MPI_Comm_disconnect(&children);
  MPI_Info_set(info, "arch", "pdp11");
  CHECK(class_of(MPI_Comm_spawn(program, argv, 4, info, 0, MPI_COMM_SELF, &children, codes)) == MPI_ERR_SPAWN);
  MPI_Info_delete(info, "arch");
  MPI_Info_set(info, "host", "no-such-host");
  CHECK(class_of(MPI_Comm_spawn(program, argv, 4, info, 0, MPI_COMM_SELF, &children, codes)) == MPI_ERR_SPAWN);
  MPI_Info_free(&info);
}

static void tell_keys(MPI_Comm parent) {
  char told[256], folder[128];
  if (!getcwd(folder, sizeof folder)) folder[0] = 0;
  snprintf(told, sizeof told, "%s %s %s", folder, getenv("GENERATIONS"), getenv("OTHER"));
  MPI_Send(told, (int)strlen(told) + 1, MPI_CHAR, 0, 0, parent);
  MPI_Comm_disconnect(&parent);
}

int main(int argc, char** argv) {
  MPI_Comm parent, everyone, inter, merged;
  int world_rank;
  char program[1024];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
  MPI_Comm_get_parent(&parent);
  if (parent != MPI_COMM_NULL && strcmp(argv[1], "keys") == 0) {
    tell_keys(parent);
    MPI_Finalize();
    return 0;
  }
  const int most = argc > 1 ? atoi(argv[1]) : 8;
  if (!realpath("/proc/self/exe", program)) return 1;
  if (parent == MPI_COMM_NULL) {
    if (world_rank == 0) failures(), keys(program);
    MPI_Comm_dup(MPI_COMM_WORLD, &everyone);
  } else {
    MPI_Intercomm_merge(parent, 1, &everyone);
    MPI_Comm_free(&parent);
    MPI_Comm_get_parent(&parent);
    CHECK(parent == MPI_COMM_NULL);
  }
  int n, me;
  for (MPI_Comm_size(everyone, &n); n < most; MPI_Comm_size(everyone, &n)) {
    char* arguments[] = {argc > 1 ? argv[1] : "8", NULL};
    MPI_Comm_spawn(program, arguments, 2, MPI_INFO_NULL, n - 1, everyone, &inter, MPI_ERRCODES_IGNORE);
    MPI_Intercomm_merge(inter, 0, &merged);
    MPI_Comm_free(&inter);
    MPI_Comm_free(&everyone);
    everyone = merged;
  }
  MPI_Comm_rank(everyone, &me);
  int sum, token = me;
  MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, everyone);
  CHECK(sum == n * (n - 1) / 2);
  for (int i = 0; i < n; ++i)
    MPI_Sendrecv_replace(&token, 1, MPI_INT, (me + 1) % n, 0, (me + n - 1) % n, 0, everyone, MPI_STATUS_IGNORE);
  CHECK(token == me);
  int all = 0;
  MPI_Reduce(&errors, &all, 1, MPI_INT, MPI_SUM, 0, everyone);
  if (me == 0) printf(all ? "%d errors\n" : "no errors\n", all);
  MPI_Comm_free(&everyone);
  MPI_Finalize();
  return errors != 0;
}
