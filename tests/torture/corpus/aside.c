/* torture --seed 2; 3 ranks */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const unsigned nothing = 0xEEEEEEEEu;

static inline void failed(int step, const char* what, long at, unsigned got, unsigned want) {
  int rank;
  const char* seed = getenv("TORTURE_SEED");
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  fprintf(stderr, "seed %s, rank %d, step %d: %s: word %ld is %u and should be %u\n", seed ? seed : "-", rank, step, what, at, got, want);
  fflush(stderr);
  MPI_Abort(MPI_COMM_WORLD, 3);
}

static inline void must(int code, int step, const char* call) {
  char words[MPI_MAX_ERROR_STRING];
  int length;
  if (code == MPI_SUCCESS) return;
  MPI_Error_string(code, words, &length);
  fprintf(stderr, "%s: %s\n", call, words);
  failed(step, call, 0, (unsigned)code, MPI_SUCCESS);
}

static inline unsigned word(unsigned key, unsigned k) {
  unsigned x = key * 2654435761u + k * 2246822519u;
  return x ^ (x >> 15);
}

static inline void make(unsigned** buffer, int words) {
  *buffer = (unsigned*)malloc(((size_t)words + 1) * sizeof(unsigned));
  for (int i = 0; i <= words; ++i) (*buffer)[i] = nothing;
}

static inline void drop(unsigned** buffer) {
  free(*buffer);
  *buffer = 0;
}

static inline long place(const int* layout, int size, int extent, long k) {
  return layout ? k / size * extent + layout[k % size] : k;
}

static inline void fill(unsigned* at, const int* layout, int size, int extent, int words, unsigned key, int first) {
  for (int k = 0; k < words; ++k) at[place(layout, size, extent, k)] = word(key, (unsigned)(first + k));
}

static inline void expect(int step, unsigned* at, const int* layout, int size, int extent, int words, unsigned key, int members, int first) {
  for (int k = 0; k < words; ++k) {
    unsigned want = 0;
    for (int m = 0; m < members; ++m) want += word(key + (unsigned)m, (unsigned)(first + k));
    unsigned* it = at + place(layout, size, extent, k);
    if (*it != want) failed(step, "contents", k, *it, want);
    *it = nothing;
  }
}

static inline void expect_blank(int step, unsigned* at, int words) {
  for (int i = 0; i < words; ++i) if (at[i] != nothing) failed(step, "outside of the message", i, at[i], nothing);
}

static inline void expect_no_more(int step, unsigned** buffer, int words) {
  expect_blank(step, *buffer, words + 1);
  free(*buffer);
  *buffer = 0;
}

static inline void complete(int step, int way, MPI_Request* request, MPI_Status* status) {
  int flag = 0;
  int index = 0;
  if (way == 0) must(MPI_Wait(request, status), step, "MPI_Wait");
  if (way == 1) while (!flag) must(MPI_Test(request, &flag, status), step, "MPI_Test");
  if (way == 2) must(MPI_Waitall(1, request, status), step, "MPI_Waitall");
  if (way == 3) must(MPI_Waitany(1, request, &index, status), step, "MPI_Waitany");
  if (way == 4) {
    while (!flag) must(MPI_Request_get_status(*request, &flag, status), step, "MPI_Request_get_status");
    must(MPI_Wait(request, status), step, "MPI_Wait");
  }
  if (way == 5) while (!flag) must(MPI_Testsome(1, request, &flag, &index, status), step, "MPI_Testsome");
}

static inline void open_board(int step, MPI_Comm comm, unsigned** board, int root) {
  int me = 0;
  int size = 0;
  int file = 0;
  const char* folder = getenv("TMPDIR");
  make(board, 64);
  MPI_Comm_rank(comm, &me);
  MPI_Comm_size(comm, &size);
  if (me != root) {
    must(MPI_Recv(*board, 64, MPI_UNSIGNED, root, step + 1, comm, MPI_STATUS_IGNORE), step, "MPI_Recv");
    return;
  }
  snprintf((char*)*board, 256, "%s/board-XXXXXX", folder ? folder : "/tmp");
  file = mkstemp((char*)*board);
  if (file < 0) failed(step, "mkstemp", 0, 1, 0);
  close(file);
  for (int to = 0; to < size; ++to) {
    if (to != me) must(MPI_Send(*board, 64, MPI_UNSIGNED, to, step + 1, comm), step, "MPI_Send");
  }
}

static inline void leave_mark(unsigned* board) {
  FILE* file = fopen((char*)board, "a");
  fputc(1, file);
  fclose(file);
}

static inline void await_marks(unsigned* board, long marks) {
  for (long left = 0; left < marks; usleep(300)) {
    FILE* file = fopen((char*)board, "r");
    fseek(file, 0, SEEK_END);
    left = ftell(file);
    fclose(file);
  }
}

static inline void close_board(int step, MPI_Comm comm, unsigned** board) {
  int me = 0;
  MPI_Comm_rank(comm, &me);
  must(MPI_Barrier(comm), step, "MPI_Barrier");
  if (me == 0) remove((char*)*board);
  drop(board);
}

static unsigned* b[1024];
static MPI_Request r[1024];
static MPI_Status s[1024];

int main(int argc, char** argv) {
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  /* step 0 begins: ranks aside */
  if (rank == 0) {
  open_board(0, MPI_COMM_WORLD, &b[4], 1);
  await_marks(b[4], 2);
  }
  if (rank == 1) {
  open_board(0, MPI_COMM_WORLD, &b[4], 1);
  make(&b[1], 9);
  make(&b[2], 9);
  fill(b[1], 0, 1, 1, 9, 1025u, 0);
  must(MPI_Irecv(b[2], 9, MPI_UNSIGNED, 2, 1, MPI_COMM_WORLD, &r[2]), 0, "MPI_Irecv");
  must(MPI_Isend(b[1], 9, MPI_UNSIGNED, 2, 1, MPI_COMM_WORLD, &r[1]), 0, "MPI_Isend");
  complete(0, 4, &r[2], &s[2]);
  complete(0, 5, &r[1], &s[1]);
  expect(0, b[2], 0, 1, 1, 9, 1026u, 1, 0);
  expect_no_more(0, &b[2], 9);
  drop(&b[1]);
  make(&b[3], 8);
  fill(b[3], 0, 1, 1, 8, 1537u, 0);
  must(MPI_Isend(b[3], 8, MPI_UNSIGNED, 0, 1, MPI_COMM_WORLD, &r[3]), 0, "MPI_Isend");
  leave_mark(b[4]);
  }
  if (rank == 2) {
  open_board(0, MPI_COMM_WORLD, &b[4], 1);
  make(&b[1], 9);
  make(&b[2], 9);
  fill(b[1], 0, 1, 1, 9, 1026u, 0);
  must(MPI_Irecv(b[2], 9, MPI_UNSIGNED, 1, 1, MPI_COMM_WORLD, &r[2]), 0, "MPI_Irecv");
  must(MPI_Isend(b[1], 9, MPI_UNSIGNED, 1, 1, MPI_COMM_WORLD, &r[1]), 0, "MPI_Isend");
  complete(0, 4, &r[2], &s[2]);
  complete(0, 5, &r[1], &s[1]);
  expect(0, b[2], 0, 1, 1, 9, 1025u, 1, 0);
  expect_no_more(0, &b[2], 9);
  drop(&b[1]);
  make(&b[3], 8);
  fill(b[3], 0, 1, 1, 8, 1538u, 0);
  must(MPI_Isend(b[3], 8, MPI_UNSIGNED, 0, 1, MPI_COMM_WORLD, &r[3]), 0, "MPI_Isend");
  leave_mark(b[4]);
  }
  /* step 0 ends: ranks aside */
  if (rank == 0) {
  make(&b[2], 8);
  must(MPI_Recv(b[2], 8, MPI_UNSIGNED, 1, 1, MPI_COMM_WORLD, &s[1]), 0, "MPI_Recv");
  expect(0, b[2], 0, 1, 1, 8, 1537u, 1, 0);
  expect_no_more(0, &b[2], 8);
  make(&b[2], 8);
  must(MPI_Recv(b[2], 8, MPI_UNSIGNED, 2, 1, MPI_COMM_WORLD, &s[1]), 0, "MPI_Recv");
  expect(0, b[2], 0, 1, 1, 8, 1538u, 1, 0);
  expect_no_more(0, &b[2], 8);
  close_board(0, MPI_COMM_WORLD, &b[4]);
  }
  if (rank == 1 || rank == 2) {
  complete(0, 4, &r[3], &s[3]);
  drop(&b[3]);
  close_board(0, MPI_COMM_WORLD, &b[4]);
  }
  /* step 1 begins: ranks aside */
  if (rank == 0) {
  open_board(1, MPI_COMM_WORLD, &b[20], 0);
  make(&b[17], 4097);
  make(&b[18], 4097);
  fill(b[17], 0, 1, 1, 4097, 2048u, 0);
  must(MPI_Irecv(b[18], 4097, MPI_UNSIGNED, 2, 2, MPI_COMM_WORLD, &r[18]), 1, "MPI_Irecv");
  must(MPI_Isend(b[17], 4097, MPI_UNSIGNED, 2, 2, MPI_COMM_WORLD, &r[17]), 1, "MPI_Isend");
  complete(1, 5, &r[18], &s[18]);
  complete(1, 0, &r[17], &s[17]);
  expect(1, b[18], 0, 1, 1, 4097, 2050u, 1, 0);
  expect_no_more(1, &b[18], 4097);
  drop(&b[17]);
  make(&b[19], 8);
  fill(b[19], 0, 1, 1, 8, 2560u, 0);
  must(MPI_Isend(b[19], 8, MPI_UNSIGNED, 1, 2, MPI_COMM_WORLD, &r[19]), 1, "MPI_Isend");
  leave_mark(b[20]);
  }
  if (rank == 1) {
  open_board(1, MPI_COMM_WORLD, &b[20], 0);
  await_marks(b[20], 2);
  }
  if (rank == 2) {
  open_board(1, MPI_COMM_WORLD, &b[20], 0);
  make(&b[17], 4097);
  make(&b[18], 4097);
  fill(b[17], 0, 1, 1, 4097, 2050u, 0);
  must(MPI_Irecv(b[18], 4097, MPI_UNSIGNED, 0, 2, MPI_COMM_WORLD, &r[18]), 1, "MPI_Irecv");
  must(MPI_Isend(b[17], 4097, MPI_UNSIGNED, 0, 2, MPI_COMM_WORLD, &r[17]), 1, "MPI_Isend");
  complete(1, 5, &r[18], &s[18]);
  complete(1, 0, &r[17], &s[17]);
  expect(1, b[18], 0, 1, 1, 4097, 2048u, 1, 0);
  expect_no_more(1, &b[18], 4097);
  drop(&b[17]);
  make(&b[19], 8);
  fill(b[19], 0, 1, 1, 8, 2562u, 0);
  must(MPI_Isend(b[19], 8, MPI_UNSIGNED, 1, 2, MPI_COMM_WORLD, &r[19]), 1, "MPI_Isend");
  leave_mark(b[20]);
  }
  /* step 1 ends: ranks aside */
  if (rank == 0 || rank == 2) {
  complete(1, 5, &r[19], &s[19]);
  drop(&b[19]);
  close_board(1, MPI_COMM_WORLD, &b[20]);
  }
  if (rank == 1) {
  make(&b[18], 8);
  must(MPI_Recv(b[18], 8, MPI_UNSIGNED, 0, 2, MPI_COMM_WORLD, &s[17]), 1, "MPI_Recv");
  expect(1, b[18], 0, 1, 1, 8, 2560u, 1, 0);
  expect_no_more(1, &b[18], 8);
  make(&b[18], 8);
  must(MPI_Recv(b[18], 8, MPI_UNSIGNED, 2, 2, MPI_COMM_WORLD, &s[17]), 1, "MPI_Recv");
  expect(1, b[18], 0, 1, 1, 8, 2562u, 1, 0);
  expect_no_more(1, &b[18], 8);
  close_board(1, MPI_COMM_WORLD, &b[20]);
  }
  /* step 2 begins: ranks aside */
  if (rank == 0) {
  open_board(2, MPI_COMM_WORLD, &b[36], 0);
  make(&b[33], 0);
  make(&b[34], 0);
  fill(b[33], 0, 1, 1, 0, 3072u, 0);
  must(MPI_Irecv(b[34], 0, MPI_UNSIGNED, 1, 3, MPI_COMM_WORLD, &r[34]), 2, "MPI_Irecv");
  must(MPI_Isend(b[33], 0, MPI_UNSIGNED, 1, 3, MPI_COMM_WORLD, &r[33]), 2, "MPI_Isend");
  complete(2, 1, &r[34], &s[34]);
  complete(2, 2, &r[33], &s[33]);
  expect(2, b[34], 0, 1, 1, 0, 3073u, 1, 0);
  expect_no_more(2, &b[34], 0);
  drop(&b[33]);
  make(&b[35], 8);
  fill(b[35], 0, 1, 1, 8, 3584u, 0);
  must(MPI_Isend(b[35], 8, MPI_UNSIGNED, 2, 3, MPI_COMM_WORLD, &r[35]), 2, "MPI_Isend");
  leave_mark(b[36]);
  }
  if (rank == 1) {
  open_board(2, MPI_COMM_WORLD, &b[36], 0);
  make(&b[33], 0);
  make(&b[34], 0);
  fill(b[33], 0, 1, 1, 0, 3073u, 0);
  must(MPI_Irecv(b[34], 0, MPI_UNSIGNED, 0, 3, MPI_COMM_WORLD, &r[34]), 2, "MPI_Irecv");
  must(MPI_Isend(b[33], 0, MPI_UNSIGNED, 0, 3, MPI_COMM_WORLD, &r[33]), 2, "MPI_Isend");
  complete(2, 1, &r[34], &s[34]);
  complete(2, 2, &r[33], &s[33]);
  expect(2, b[34], 0, 1, 1, 0, 3072u, 1, 0);
  expect_no_more(2, &b[34], 0);
  drop(&b[33]);
  make(&b[35], 8);
  fill(b[35], 0, 1, 1, 8, 3585u, 0);
  must(MPI_Isend(b[35], 8, MPI_UNSIGNED, 2, 3, MPI_COMM_WORLD, &r[35]), 2, "MPI_Isend");
  leave_mark(b[36]);
  }
  if (rank == 2) {
  open_board(2, MPI_COMM_WORLD, &b[36], 0);
  await_marks(b[36], 2);
  }
  /* step 2 ends: ranks aside */
  if (rank == 0 || rank == 1) {
  complete(2, 1, &r[35], &s[35]);
  drop(&b[35]);
  close_board(2, MPI_COMM_WORLD, &b[36]);
  }
  if (rank == 2) {
  make(&b[34], 8);
  must(MPI_Recv(b[34], 8, MPI_UNSIGNED, 0, 3, MPI_COMM_WORLD, &s[33]), 2, "MPI_Recv");
  expect(2, b[34], 0, 1, 1, 8, 3584u, 1, 0);
  expect_no_more(2, &b[34], 8);
  make(&b[34], 8);
  must(MPI_Recv(b[34], 8, MPI_UNSIGNED, 1, 3, MPI_COMM_WORLD, &s[33]), 2, "MPI_Recv");
  expect(2, b[34], 0, 1, 1, 8, 3585u, 1, 0);
  expect_no_more(2, &b[34], 8);
  close_board(2, MPI_COMM_WORLD, &b[36]);
  }
  MPI_Finalize();
  return 0;
}
