/* SPDX-License-Identifier: BSD-3-Clause */
/* Every wrong argument of every call of worlds that meet: the class that the handler gets, whose handler it is, and
   that the other ranks of a collective call hear of what is wrong at the root. Two ranks. */
#include <limits.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "check.h"

#define NOTHING ((void*)0)

static int handled;
static void count(MPI_Comm* comm, int* code, ...) {
  (void)comm, (void)code;
  ++handled;
}

/* The class of the error of a call, which has to come by the handler of MPI_COMM_WORLD, or of MPI_COMM_SELF. */
#define FAILS(call, class_)                                                                                        \
  do {                                                                                                             \
    const int before = handled, got = class_of(call);                                                              \
    if (got != (class_) || handled != before + 1) {                                                                \
      ++errors;                                                                                                    \
      fprintf(stderr, "arguments.c:%d: %s: class %d, handled %d times\n", __LINE__, #call, got, handled - before); \
    }                                                                                                              \
  } while (0)

int main(int argc, char** argv) {
  MPI_Comm none = MPI_COMM_SELF, inter = MPI_COMM_NULL;
  MPI_Info info;
  MPI_Errhandler counts;
  int rank, codes[4], flag;
  char port[MPI_MAX_PORT_NAME], *words[] = {"child", NULL}, *program = argv[0], *nobody = NULL, **no_words = NULL;
  MPI_Init(&argc, &argv);
  if (was_spawned()) return 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_create_errhandler(count, &counts);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, counts);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, counts);
  MPI_Info_create(&info);
  const MPI_Comm world = MPI_COMM_WORLD, self = MPI_COMM_SELF;

  /* MPI_Comm_spawn: what is wrong at the root is told to all. */
  const char* command = rank == 1 ? program : "not looked at";
  FAILS(MPI_Comm_spawn(rank == 1 ? NULL : "x", words, 1, MPI_INFO_NULL, 1, world, &none, codes), MPI_ERR_ARG);
  FAILS(MPI_Comm_spawn(rank == 1 ? "" : "x", words, 1, MPI_INFO_NULL, 1, world, &none, codes), MPI_ERR_ARG);
  FAILS(MPI_Comm_spawn(command, words, rank == 1 ? -1 : 1, MPI_INFO_NULL, 1, world, &none, codes), MPI_ERR_ARG);
  FAILS(MPI_Comm_spawn(command, words, rank == 1 ? 0 : 1, MPI_INFO_NULL, 1, world, &none, codes), MPI_ERR_SPAWN);
  FAILS(MPI_Comm_spawn(command, words, 1, rank == 1 ? (MPI_Info)0x12345678 : MPI_INFO_NULL, 1, world, &none, codes),
        MPI_ERR_INFO);
  FAILS(MPI_Comm_spawn(command, words, rank == 1 ? INT_MAX : 1, MPI_INFO_NULL, 1, world, &none, MPI_ERRCODES_IGNORE),
        MPI_ERR_SPAWN);
  FAILS(MPI_Comm_spawn(program, words, 1, MPI_INFO_NULL, 2, world, &none, codes), MPI_ERR_ROOT);
  FAILS(MPI_Comm_spawn(program, words, 1, MPI_INFO_NULL, -1, world, &none, codes), MPI_ERR_ROOT);
  FAILS(MPI_Comm_spawn(program, words, 1, MPI_INFO_NULL, 0, MPI_COMM_NULL, &none, codes), MPI_ERR_COMM);
  FAILS(MPI_Comm_spawn(program, words, 1, MPI_INFO_NULL, 0, world, NOTHING, codes), MPI_ERR_ARG);
  FAILS(MPI_Comm_spawn("/nowhere/at/all", words, 2, MPI_INFO_NULL, 0, world, &none, codes), MPI_ERR_SPAWN);
  CHECK(codes[0] == MPI_ERR_SPAWN && codes[1] == MPI_ERR_SPAWN && none == MPI_COMM_NULL);
  /* Bytes that are no UTF-8 are the program's own business. */
  FAILS(MPI_Comm_spawn("/nowhere/\xff\xfe", words, 1, MPI_INFO_NULL, 0, world, &none, codes), MPI_ERR_SPAWN);
  static const char* const bad[][2] = {{"soft", "no number"},
                                       {"soft", "7:9"},
                                       {"soft", "1:2:0"},
                                       {"soft", "1:2:3:4"},
                                       {"soft", "0:2000000000:0"},
                                       {"arch", "pdp11"},
                                       {"host", "nobody-x"},
                                       {"host", "a:b"},
                                       {"hostfile", "/nowhere"},
                                       {"file", "/nowhere"},
                                       {"env", "no equals"},
                                       {"env", "=x"},
                                       {"wdir", "/nowhere"},
                                       {"hostfile", "/dev/null/\xff"},
                                       {"rmq_env_each", "x A=b"},
                                       {"rmq_env_each", "0 b"},
                                       {"rmq_stdout", "/nowhere/file"},
                                       {"rmq_stdin_each", "0 /nowhere"}};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
    MPI_Info_set(info, bad[i][0], bad[i][1]);
    FAILS(MPI_Comm_spawn(program, words, 4, info, 0, world, &none, codes), MPI_ERR_SPAWN);
    MPI_Info_delete(info, bad[i][0]);
  }

  /* MPI_Comm_spawn_multiple */
  int one = 1, less = -1;
  FAILS(MPI_Comm_spawn_multiple(rank == 0 ? 0 : 1, &program, &no_words, &one, &info, 0, world, &none, codes),
        MPI_ERR_ARG);
  FAILS(MPI_Comm_spawn_multiple(1, rank == 0 ? NOTHING : &program, NULL, &one, &info, 0, world, &none, codes),
        MPI_ERR_ARG);
  FAILS(MPI_Comm_spawn_multiple(1, &program, NULL, rank == 0 ? NOTHING : &one, &info, 0, world, &none, codes),
        MPI_ERR_ARG);
  FAILS(MPI_Comm_spawn_multiple(1, rank == 0 ? &nobody : &program, NULL, &one, &info, 0, world, &none, codes),
        MPI_ERR_ARG);
  FAILS(MPI_Comm_spawn_multiple(1, &program, NULL, rank == 0 ? &less : &one, &info, 0, world, &none, codes),
        MPI_ERR_ARG);

  /* An inter-communicator is none to spawn, accept or connect from. */
  CHECK(MPI_Comm_spawn(program, words, 1, info, 0, world, &inter, codes) == MPI_SUCCESS && codes[0] == MPI_SUCCESS);
  MPI_Comm_set_errhandler(inter, counts);
  FAILS(MPI_Comm_spawn(program, words, 1, info, 0, inter, &none, codes), MPI_ERR_COMM);
  FAILS(MPI_Comm_accept("", info, 0, inter, &none), MPI_ERR_COMM);
  FAILS(MPI_Comm_connect("", info, 0, inter, &none), MPI_ERR_COMM);
  MPI_Comm_disconnect(&inter);
  CHECK(inter == MPI_COMM_NULL);
  FAILS(MPI_Comm_disconnect(&inter), MPI_ERR_COMM);
  FAILS(MPI_Comm_disconnect(NOTHING), MPI_ERR_COMM);
  inter = world;
  FAILS(MPI_Comm_disconnect(&inter), MPI_ERR_COMM);
  FAILS(MPI_Comm_get_parent(NOTHING), MPI_ERR_ARG);

  /* Ports */
  FAILS(MPI_Open_port(info, NOTHING), MPI_ERR_ARG);
  FAILS(MPI_Open_port((MPI_Info)0x12345678, port), MPI_ERR_INFO);
  FAILS(MPI_Close_port(NOTHING), MPI_ERR_ARG);
  FAILS(MPI_Close_port("rmq1:no@127.0.0.1:1"), MPI_ERR_PORT);
  CHECK(MPI_Open_port(MPI_INFO_NULL, port) == MPI_SUCCESS);
  FAILS(MPI_Comm_accept(rank == 1 ? NULL : port, info, 1, world, &none), MPI_ERR_ARG);
  FAILS(MPI_Comm_accept("nobody's", info, 1, world, &none), MPI_ERR_PORT);
  FAILS(MPI_Comm_accept(port, info, 2, world, &none), MPI_ERR_ROOT);
  FAILS(MPI_Comm_accept(port, info, 0, MPI_COMM_NULL, &none), MPI_ERR_COMM);
  FAILS(MPI_Comm_accept(port, info, 0, self, NOTHING), MPI_ERR_ARG);
  FAILS(MPI_Comm_accept(port, (MPI_Info)0x12345678, 0, self, &none), MPI_ERR_INFO);
  FAILS(MPI_Comm_connect(rank == 1 ? NULL : port, info, 1, world, &none), MPI_ERR_ARG);
  FAILS(MPI_Comm_connect("nobody's", info, 1, world, &none), MPI_ERR_PORT);
  FAILS(MPI_Comm_connect("rmq1:zz@127.0.0.1:1", info, 0, self, &none), MPI_ERR_PORT);
  FAILS(MPI_Comm_connect(port, info, 2, world, &none), MPI_ERR_ROOT);
  FAILS(MPI_Comm_connect(port, info, 0, self, NOTHING), MPI_ERR_ARG);
  static const char* const times[] = {"soon", "-1", "", "1 s", "nan", "1e300"};
  for (size_t i = 0; i < sizeof times / sizeof *times; ++i) {
    MPI_Info_set(info, "timeout", times[i]);
    FAILS(MPI_Comm_accept(port, info, 0, self, &none), MPI_ERR_INFO_VALUE);
    FAILS(MPI_Comm_connect(port, info, 0, self, &none), MPI_ERR_INFO_VALUE);
  }
  MPI_Info_set(info, "timeout", "0");
  FAILS(MPI_Comm_accept(port, info, 0, world, &none), MPI_ERR_PORT);
  MPI_Info_delete(info, "timeout");

  /* Names */
  FAILS(MPI_Publish_name(NOTHING, info, port), MPI_ERR_ARG);
  FAILS(MPI_Publish_name("x", info, NOTHING), MPI_ERR_ARG);
  FAILS(MPI_Publish_name("x", (MPI_Info)0x12345678, port), MPI_ERR_INFO);
  FAILS(MPI_Unpublish_name("never published \xe9", info, port), MPI_ERR_SERVICE);
  FAILS(MPI_Unpublish_name(NOTHING, info, port), MPI_ERR_ARG);
  FAILS(MPI_Lookup_name("never published \xe9", info, port), MPI_ERR_NAME);
  FAILS(MPI_Lookup_name(NOTHING, info, port), MPI_ERR_ARG);
  FAILS(MPI_Lookup_name("x", info, NOTHING), MPI_ERR_ARG);

  /* MPI_Comm_join */
  int ends[2];
  FAILS(MPI_Comm_join(-1, &none), MPI_ERR_ARG);
  FAILS(MPI_Comm_join(0, NOTHING), MPI_ERR_ARG);
  if (pipe(ends) != 0) return 1;
  FAILS(MPI_Comm_join(ends[0], &none), MPI_ERR_ARG);
  /* Something else at the other end; one whose key is later than any of ours, and that comes no more; one that ends. */
  static const char others[3][41] = {"hello, this is not MPI at all: it is 40B",
                                     "RMQ-JOIN\376\376\376\376\376\376\376\376\376\376\376\376\376"
                                     "\376\376\376\376\376\376\376\376\376\376\376\376\376\376\376\376\376\376\376",
                                     ""};
  for (int i = 0; i < 3; ++i) {
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) return 1;
    const size_t length = strlen(others[i]);
    if (send(ends[1], others[i], length, 0) != (ssize_t)length) return 1;
    if (i > 0 && shutdown(ends[1], SHUT_WR) != 0) return 1;
    FAILS(MPI_Comm_join(ends[0], &none), MPI_ERR_OTHER);
    close(ends[0]), close(ends[1]);
  }
  MPI_Comm_test_inter(world, &flag);
  MPI_Errhandler_free(&counts);
  MPI_Info_free(&info);
  return finish();
}
