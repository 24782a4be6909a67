/* SPDX-License-Identifier: BSD-3-Clause */
/* Two jobs meet at a port, whose name goes through a file:  meet accept|connect FILE [rounds]
   They exchange messages of many sizes both ways, merge, hold collectives and a window over both, and part. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"

static void tell(const char* file, const char* name) {
  char temporary[600];
  snprintf(temporary, sizeof temporary, "%s.new", file);
  FILE* f = fopen(temporary, "w");
  fputs(name, f);
  fclose(f);
  rename(temporary, file);
}

static void learn(const char* file, char* name) {
  FILE* f;
  while (!(f = fopen(file, "r"))) usleep(1000);
  if (!fgets(name, MPI_MAX_PORT_NAME, f)) abort();
  fclose(f);
}

/* Every rank of one side sends to every rank of the other one. */
static void messages(MPI_Comm inter, int first) {
  int me, ours, theirs;
  MPI_Comm_rank(inter, &me);
  MPI_Comm_size(inter, &ours);
  MPI_Comm_remote_size(inter, &theirs);
  for (int bytes = 0; bytes <= 1 << 20; bytes = bytes ? bytes * 4 : 1) {
    for (int direction = 0; direction < 2; ++direction) {
      unsigned char* data = malloc((size_t)bytes + 1);
      MPI_Request requests[64];
      if (direction == first) {
        for (int i = 0; i < bytes; ++i) data[i] = (unsigned char)(i * 7 + me);
        for (int r = 0; r < theirs; ++r) MPI_Isend(data, bytes, MPI_BYTE, r, 5, inter, &requests[r]);
        MPI_Waitall(theirs, requests, MPI_STATUSES_IGNORE);
      } else {
        for (int r = 0; r < theirs; ++r) {
          MPI_Status status;
          int count, wrong = 0;
          MPI_Recv(data, bytes + 1, MPI_BYTE, MPI_ANY_SOURCE, 5, inter, &status);
          MPI_Get_count(&status, MPI_BYTE, &count);
          CHECK(count == bytes);
          for (int i = 0; i < bytes; ++i) wrong += data[i] != (unsigned char)(i * 7 + status.MPI_SOURCE);
          CHECK(wrong == 0);
        }
      }
      free(data);
    }
  }
}

static void collectives(MPI_Comm inter, int first) {
  int me, ours, theirs;
  MPI_Comm_rank(inter, &me);
  MPI_Comm_size(inter, &ours);
  MPI_Comm_remote_size(inter, &theirs);
  int one = me + 1 + 100 * first, sum = 0;
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, inter);
  CHECK(sum == theirs * (theirs + 1) / 2 + 100 * !first * theirs);
  int* all = malloc(sizeof(int) * (size_t)theirs);
  MPI_Allgather(&one, 1, MPI_INT, all, 1, MPI_INT, inter);
  for (int r = 0; r < theirs; ++r) CHECK(all[r] == r + 1 + 100 * !first);
  free(all);
  MPI_Barrier(inter);
}

static void merged(MPI_Comm inter, int first) {
  MPI_Comm both, split, host;
  int me, n, same, ours;
  MPI_Intercomm_merge(inter, !first, &both);
  MPI_Comm_rank(both, &me);
  MPI_Comm_size(both, &n);
  MPI_Comm_size(inter, &ours);
  CHECK(first ? me < ours : me >= n - ours);
  for (int round = 0; round < 20; ++round) {
    int value = me + round, sum, most;
    MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, both);
    CHECK(sum == n * (n - 1) / 2 + round * n);
    MPI_Barrier(both);
    most = me == round % n ? 1000 + round : 0;
    MPI_Bcast(&most, 1, MPI_INT, round % n, both);
    CHECK(most == 1000 + round);
  }
  const int count = 100000;
  double *in = malloc(sizeof(double) * (size_t)count), *out = malloc(sizeof(double) * (size_t)count);
  for (int i = 0; i < count; ++i) in[i] = me + i;
  MPI_Allreduce(in, out, count, MPI_DOUBLE, MPI_SUM, both);
  int wrong = 0;
  for (int i = 0; i < count; ++i) wrong += out[i] != n * (n - 1) / 2 + (double)i * n;
  CHECK(wrong == 0);
  MPI_Allgather(&me, 1, MPI_INT, in, 1, MPI_INT, both);
  for (int r = 0; r < n; ++r) CHECK(((int*)in)[r] == r);
  free(in), free(out);

  MPI_Comm_split(both, me % 2, -me, &split);
  int parity = me % 2, sum = 0, size;
  MPI_Comm_size(split, &size);
  MPI_Allreduce(&parity, &sum, 1, MPI_INT, MPI_SUM, split);
  CHECK(sum == (me % 2) * size);
  MPI_Comm_compare(split, both, &same);
  MPI_Comm_free(&split);

  /* A window, with a datatype that has gaps. */
  int* memory;
  MPI_Win win;
  MPI_Datatype every_other;
  MPI_Win_allocate((MPI_Aint)sizeof(int) * 2 * n, sizeof(int), MPI_INFO_NULL, both, &memory, &win);
  MPI_Type_vector(2, 1, n, MPI_INT, &every_other);
  MPI_Type_commit(&every_other);
  for (int i = 0; i < 2 * n; ++i) memory[i] = -1;
  MPI_Win_fence(0, win);
  int mine[2] = {me, 1000 + me};
  for (int r = 0; r < n; ++r) MPI_Put(mine, 2, MPI_INT, r, me, 1, every_other, win);
  MPI_Win_fence(0, win);
  for (int r = 0; r < n; ++r) CHECK(memory[r] == r && memory[n + r] == 1000 + r);
  MPI_Win_fence(0, win);
  memory[0] = 0;
  MPI_Win_fence(0, win);
  const int add = 1;
  int old;
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
  MPI_Fetch_and_op(&add, &old, MPI_INT, 0, 0, MPI_SUM, win);
  MPI_Win_unlock(0, win);
  MPI_Barrier(both);
  if (me == 0) {
    MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
    CHECK(memory[0] == n);
    MPI_Win_unlock(0, win);
  }
  MPI_Type_free(&every_other);
  MPI_Win_free(&win);

  /* Memory that all of a host share. */
  int *base, *theirs, members, place, unit;
  MPI_Aint bytes;
  MPI_Comm_split_type(both, MPI_COMM_TYPE_SHARED, me, MPI_INFO_NULL, &host);
  MPI_Comm_size(host, &members);
  MPI_Comm_rank(host, &place);
  MPI_Win_allocate_shared(sizeof(int), sizeof(int), MPI_INFO_NULL, host, &base, &win);
  MPI_Win_lock_all(0, win);
  *base = 77 + place;
  MPI_Win_sync(win);
  MPI_Barrier(host);
  MPI_Win_sync(win);
  for (int r = 0; r < members; ++r) {
    MPI_Win_shared_query(win, r, &bytes, &unit, &theirs);
    CHECK(*theirs == 77 + r);
  }
  MPI_Win_unlock_all(win);
  MPI_Win_free(&win);
  MPI_Comm_free(&host);
  MPI_Comm_free(&both);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int accepts = strcmp(argv[1], "accept") == 0, rounds = argc > 3 ? atoi(argv[3]) : 1;
  /* The other job may have ended behind the last round: nobody comes any more. */
  MPI_Info patience;
  MPI_Info_create(&patience);
  MPI_Info_set(patience, "timeout", "10");
  char port[MPI_MAX_PORT_NAME] = "";
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int root = size - 1;
  if (rank == root) {
    if (accepts) {
      MPI_Open_port(MPI_INFO_NULL, port);
      tell(argv[2], port);
    } else {
      learn(argv[2], port);
    }
  }
  for (int round = 0; round < rounds; ++round) {
    MPI_Comm inter;
    if (accepts)
      MPI_Comm_accept(port, patience, root, MPI_COMM_WORLD, &inter);
    else
      MPI_Comm_connect(port, MPI_INFO_NULL, root, MPI_COMM_WORLD, &inter);
    messages(inter, accepts);
    collectives(inter, accepts);
    merged(inter, accepts);
    if (round % 2 == 0 || rounds == 1)
      MPI_Comm_disconnect(&inter);
    else
      MPI_Comm_free(&inter);
  }
  MPI_Info_free(&patience);
  if (rank == root && accepts) MPI_Close_port(port);
  int all = 0;
  MPI_Reduce(&errors, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf(all ? "%d errors\n" : "no errors\n", all);
  MPI_Finalize();
  return errors != 0;
}
