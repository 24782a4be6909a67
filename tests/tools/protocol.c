/* SPDX-License-Identifier: BSD-3-Clause */
/* 3 ranks whose packets take part in every conversation of the protocol: what rmqtrace check looks at. */
#include <mpi.h>
#include <rmq_am.h>
#include <rmq_queue.h>
#include <stdlib.h>

enum { LONG = 1 << 20, FLOOD = 1000 };
static int rank;
static char* data;

static void message(int tag, int bytes, int (*send)(const void*, int, MPI_Datatype, int, int, MPI_Comm)) {
  if (rank == 0) send(data, bytes, MPI_BYTE, 1, tag, MPI_COMM_WORLD);
  if (rank == 1) MPI_Recv(data, bytes, MPI_BYTE, 0, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* One that is taken back, and one that has been matched before. */
static void cancel(void) {
  MPI_Request r;
  if (rank == 0) {
    MPI_Issend(data, 8, MPI_BYTE, 1, 50, MPI_COMM_WORLD, &r);
    MPI_Cancel(&r);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    MPI_Send(data, 0, MPI_BYTE, 1, 51, MPI_COMM_WORLD);
  } else if (rank == 1) {
    MPI_Recv(data, 0, MPI_BYTE, 0, 51, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
}

/* The last of many messages is wanted first: it gets through as an envelope beyond the credit. */
static void flood(void) {
  MPI_Request* r = malloc(FLOOD * sizeof *r);
  if (rank == 0) {
    for (int i = 0; i < FLOOD; ++i) MPI_Isend(data, 64, MPI_BYTE, 1, i + 1 == FLOOD ? 61 : 60, MPI_COMM_WORLD, &r[i]);
    MPI_Waitall(FLOOD, r, MPI_STATUSES_IGNORE);
  } else if (rank == 1) {
    MPI_Recv(data, 64, MPI_BYTE, 0, 61, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; i + 1 < FLOOD; ++i) MPI_Recv(data, 64, MPI_BYTE, 0, 60, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  free(r);
}

static void windows(void) {
  MPI_Win win;
  MPI_Datatype column;
  long *memory = calloc(4096, sizeof *memory), mine = rank, old;
  MPI_Win_create(memory, 4096 * sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  MPI_Type_vector(16, 1, 4, MPI_LONG, &column);
  MPI_Type_commit(&column);
  for (int i = 0; i < 20; ++i) {
    const int lock = i % 3 == 0 ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE;
    MPI_Win_lock(lock, 0, 0, win);
    MPI_Put(data, 16, MPI_LONG, 0, 0, 1, column, win);
    MPI_Put(&mine, 1, MPI_LONG, 0, rank, 1, MPI_LONG, win);
    MPI_Win_flush(0, win);
    MPI_Fetch_and_op(&mine, &old, MPI_LONG, 0, 8, MPI_SUM, win);
    MPI_Win_unlock(0, win);
    MPI_Win_lock(lock, 0, 0, win);
    MPI_Get(data, 16, MPI_LONG, 0, 0, 16, MPI_LONG, win);
    MPI_Win_unlock(0, win);
  }
  MPI_Type_free(&column);
  MPI_Win_fence(0, win);
  MPI_Accumulate(&mine, 1, MPI_LONG, 0, 9, 1, MPI_LONG, MPI_SUM, win);
  MPI_Win_fence(0, win);
  MPI_Win_free(&win);
  free(memory);
}

static void answer(rmq_am_message* m, void* unused) {
  (void)unused;
  rmq_am_reply(m, 1, 0, 0, m->data, m->bytes);
}
static void take(rmq_am_message* m, void* unused) {
  (void)m, (void)unused;
}

static void active_messages(void) {
  const rmq_am_handler handlers[] = {answer, take};
  rmq_am am;
  void* there;
  size_t bytes;
  static char memory[8192];
  rmq_am_create(MPI_COMM_WORLD, 0, 2, handlers, 0, &am);
  rmq_am_attach(am, memory, sizeof memory);
  rmq_am_attached(am, 0, &there, &bytes);
  for (int i = 0; rank != 0 && i < 100; ++i) rmq_am_request(am, 0, 0, &i, sizeof i, data, i * 50);
  if (rank == 1) rmq_am_request_long(am, 0, 1, 0, 0, data, sizeof memory, there);
  rmq_am_free(&am);
}

static void queue(void) {
  rmq_queue q;
  int most, count, done, got = 0;
  rmq_queue_create(MPI_COMM_WORLD, 8, 16, &q);
  rmq_queue_most(q, &most);
  char* room = malloc((size_t)most * 8);
  if (rank != 0) {
    for (int i = 0; i < 50; ++i) rmq_queue_put(q, 0, &data[i * 8], -1, &done);
  } else {
    while (got < 100) rmq_queue_get(q, room, &count), got += count;
  }
  rmq_queue_free(&q);
  free(room);
}

int main(int argc, char** argv) {
  data = calloc(LONG, 1);
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  message(1, 8, MPI_Send);
  message(2, 8, MPI_Ssend);
  message(3, LONG, MPI_Send);
  message(4, LONG, MPI_Ssend);
  cancel();
  flood();
  windows();
  queue();
  active_messages();
  MPI_Finalize();
  free(data);
  return 0;
}
