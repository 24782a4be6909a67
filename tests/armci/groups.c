// SPDX-License-Identifier: BSD-3-Clause
// processes: 4
// Groups and their memory, messages and collectives, beside MPI.
#include <armcix.h>
#include <string.h>

#include "check.h"

static int me, n;

static void memory_of(ARMCI_Group* g, int base) {
  int rank, size;
  long* all[16];
  ARMCI_Group_rank(g, &rank);
  ARMCI_Group_size(g, &size);
  for (int round = 0; round < 3; ++round) {
    /* Nothing at one of them, which does not know what it frees. */
    ARMCI_Malloc_group((void**)all, rank == round && size > 1 ? 0 : 2 * sizeof(long), g);
    const int to = (rank + 1) % size;
    if (all[to]) ARMCI_PutValueLong(base + rank, all[to] + 1, ARMCI_Absolute_id(g, to));
    ARMCI_AllFence();
    armci_msg_group_barrier(g);
    if (all[rank]) CHECK(all[rank][0] == 0 && all[rank][1] == base + (rank + size - 1) % size);
    armci_msg_group_barrier(g);
    ARMCI_Free_group(all[rank], g);
  }
}

static void groups(void) {
  ARMCI_Group world, odd, pair, turned;
  int members[16], rank, size;
  ARMCI_Group_get_world(&world);
  /* Only its members call. */
  for (int i = 1; i < n; i += 2) members[i / 2] = n - i;
  if (me % 2) {
    ARMCI_Group_create_child(n / 2, members, &odd, &world);
    ARMCI_Group_rank(&odd, &rank);
    CHECK(ARMCI_Absolute_id(&odd, rank) == me && rank == (n - me) / 2);
    memory_of(&odd, 10);
    double x = me;
    armci_msg_group_dgop(&x, 1, "max", &odd);
    CHECK(x == n - 1);
    int number = me;
    armci_msg_group_bcast_scope(SCOPE_ALL, &number, sizeof number, 1, &odd);
    CHECK(number == 1);
    ARMCI_Group_free(&odd);
  }
  ARMCIX_Group_split(&world, me / 2, -me, &pair);
  ARMCI_Group_size(&pair, &size);
  CHECK(size == 2 && ARMCI_Absolute_id(&pair, 0) == me / 2 * 2 + 1);
  memory_of(&pair, 20);
  ARMCI_Group_set_default(&pair);
  members[0] = 1, members[1] = 0;
  ARMCI_Group_create(2, members, &turned);
  CHECK(ARMCI_Absolute_id(&turned, 0) == me / 2 * 2);
  memory_of(&turned, 30);
  armcix_mutex_hdl_t mutexes = ARMCIX_Create_mutexes_hdl(1, &turned);
  while (ARMCIX_Trylock_hdl(mutexes, 0, 1)) continue;
  ARMCIX_Unlock_hdl(mutexes, 0, 1);
  ARMCIX_Destroy_mutexes_hdl(mutexes);
  ARMCI_Group_free(&turned);
  ARMCI_Group_set_default(&world);
  ARMCI_Group_free(&pair);
  memory_of(&world, 40);
}

static void messages(void) {
  const int next = (me + 1) % n, before = (me + n - 1) % n;
  int number = me, bytes = 0, from;
  if (me % 2) {
    armci_msg_snd(7, &number, sizeof number, next);
    armci_msg_rcv(7, &number, sizeof number, &bytes, before);
  } else {
    int other;
    from = armci_msg_rcvany(7, &other, sizeof other, &bytes);
    CHECK(from == before);
    armci_msg_snd(7, &number, sizeof number, next);
    number = other;
  }
  CHECK(number == before && bytes == sizeof number);
  int values[3] = {-me - 1, me + 1, 1 << me};
  armci_msg_igop(values, 2, "absmax of all");
  CHECK(values[0] == n && values[1] == n);
  armci_msg_gop_scope(SCOPE_ALL, values + 2, 1, "or", ARMCI_INT);
  CHECK(values[2] == (1 << n) - 1);
  struct {
    double value;
    int who;
  } best = {me == 2 ? 99. : me, me};
  armci_msg_sel(&best, sizeof best, "max", ARMCI_DOUBLE, me != 2);
  CHECK(best.value == (n == 3 ? 1 : n - 1) && best.who == (n == 3 ? 1 : n - 1));
  char text[8] = "";
  if (me == n - 1) strcpy(text, "hello");
  armci_msg_brdcst(text, sizeof text, n - 1);
  CHECK(strcmp(text, "hello") == 0);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  /* Processes are those of a communicator, in its order. */
  MPI_Comm turned;
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Comm_split(MPI_COMM_WORLD, 0, -me, &turned);
  ARMCI_Init_mpi_comm(turned);
  MPI_Comm_size(MPI_COMM_WORLD, &n);
  CHECK(armci_msg_me() == n - 1 - me);
  me = armci_msg_me();
  groups();
  messages();
  ARMCI_Finalize();
  MPI_Comm_free(&turned);
  /* Once more, with the usual order. */
  ARMCI_Init();
  ARMCI_Init();
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  CHECK(armci_msg_me() == me);
  groups();
  ARMCI_Finalize();
  messages();
  ARMCI_Finalize();
  MPI_Finalize();
  return 0;
}
