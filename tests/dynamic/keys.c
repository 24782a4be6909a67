/* SPDX-License-Identifier: BSD-3-Clause */
/* The info keys of the standard, each with what it is to change, and MPI_UNIVERSE_SIZE: keys FOLDER UNIVERSE (0: any).
   The folder is empty. One rank. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "check.h"

static char* program;

/* What children say of themselves, all the same; their number. */
static int ask(MPI_Info info, const char* command, int most, char* told) {
  MPI_Comm inter;
  int n, codes[8];
  char* words[] = {"child", NULL};
  const int class_ = class_of(MPI_Comm_spawn(command, words, most, info, 0, MPI_COMM_SELF, &inter, codes));
  if (class_ != MPI_SUCCESS) return -class_;
  MPI_Comm_remote_size(inter, &n);
  for (int i = 0; i < most; ++i) CHECK(codes[i] == (i < n ? MPI_SUCCESS : MPI_ERR_SPAWN));
  for (int r = 0; r < n; ++r) MPI_Recv(told, 2 * PATH_MAX, MPI_CHAR, r, 0, inter, MPI_STATUS_IGNORE);
  MPI_Comm_disconnect(&inter);
  return n;
}

static void child(MPI_Comm parent) {
  char told[2 * PATH_MAX], folder[PATH_MAX];
  if (!getcwd(folder, sizeof folder)) folder[0] = 0;
  snprintf(told, sizeof told, "%s|%s", folder, getenv("KEYS") ? getenv("KEYS") : "");
  MPI_Send(told, (int)strlen(told) + 1, MPI_CHAR, 0, 0, parent);
  MPI_Comm_disconnect(&parent);
}

static void put(const char* file, const char* text) {
  FILE* f = fopen(file, "w");
  fputs(text, f);
  fclose(f);
}

int main(int argc, char** argv) {
  MPI_Comm parent;
  MPI_Info info;
  char told[2 * PATH_MAX], file[PATH_MAX], link[PATH_MAX], text[PATH_MAX], folder[PATH_MAX];
  MPI_Init(&argc, &argv);
  MPI_Comm_get_parent(&parent);
  if (parent != MPI_COMM_NULL) {
    child(parent);
    MPI_Finalize();
    return 0;
  }
  int* universe;
  int size, found;
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_UNIVERSE_SIZE, &universe, &found);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  CHECK(found && *universe > size);
  if (atoi(argv[2]) > 0) CHECK(*universe == atoi(argv[2]));

  program = realpath("/proc/self/exe", NULL);
  if (!realpath(argv[1], folder)) return 1;
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
#define WITH(key, value) MPI_Info_create(&info), MPI_Info_set(info, key, value)
#define DONE MPI_Info_free(&info)
  WITH("wdir", folder);
  snprintf(text, sizeof text, "%s|", folder);
  CHECK(ask(info, program, 2, told) == 2 && strcmp(told, text) == 0);
  DONE;
  WITH("env", "KEYS=one\n two\nKEYS2=x");
  CHECK(ask(info, program, 2, told) == 2 && strcmp(strchr(told, '|'), "|one\ntwo") == 0);
  DONE;
  /* A program that is found only there. */
  snprintf(link, sizeof link, "%s/rmq-keys-program", folder);
  CHECK(symlink(program, link) == 0);
  CHECK(ask(MPI_INFO_NULL, "rmq-keys-program", 1, told) == -MPI_ERR_SPAWN);
  WITH("path", folder);
  CHECK(ask(info, "rmq-keys-program", 1, told) == 1);
  DONE;
  static const struct {
    const char* soft;
    int most, comes;
  } soft[] = {{"1,2,5", 4, 2}, {"0:8:3", 8, 6}, {"8:0:-3", 4, 2}, {"3", 4, 3}, {"0:2000000000", 3, 3}};
  for (size_t i = 0; i < sizeof soft / sizeof *soft; ++i) {
    WITH("soft", soft[i].soft);
    CHECK(ask(info, program, soft[i].most, told) == soft[i].comes);
    DONE;
  }
  struct utsname machine;
  uname(&machine);
  WITH("arch", machine.machine);
  CHECK(ask(info, program, 1, told) == 1);
  DONE;
  WITH("host", "localhost:2");
  CHECK(ask(info, program, 3, told) == 3);
  DONE;
  snprintf(file, sizeof file, "%s/file", folder);
  put(file, "# hosts\n\nlocalhost slots=2\n");
  WITH("hostfile", file);
  CHECK(ask(info, program, 2, told) == 2);
  put(file, "some-other-host\n");
  CHECK(ask(info, program, 2, told) == -MPI_ERR_SPAWN);
  DONE;
  /* Keys may come from a file; those that the program has given come first. */
  put(file, "# keys\nwdir=/\nenv=KEYS=from the file\n");
  WITH("file", file);
  CHECK(ask(info, program, 1, told) == 1 && strcmp(told, "/|from the file") == 0);
  MPI_Info_set(info, "wdir", folder);
  snprintf(text, sizeof text, "%s|from the file", folder);
  CHECK(ask(info, program, 1, told) == 1 && strcmp(told, text) == 0);
  DONE;
  unlink(file), unlink(link);
  free(program);
  return finish();
}
