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

static inline void open_board(int step, MPI_Comm comm, unsigned** board) {
  int me = 0;
  int file = 0;
  const char* folder = getenv("TMPDIR");
  make(board, 64);
  snprintf((char*)*board, 256, "%s/board-XXXXXX", folder ? folder : "/tmp");
  MPI_Comm_rank(comm, &me);
  if (me == 0) file = mkstemp((char*)*board);
  if (file < 0) failed(step, "mkstemp", 0, 1, 0);
  if (me == 0) close(file);
  must(MPI_Bcast(*board, 256, MPI_CHAR, 0, comm), step, "MPI_Bcast");
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
  open_board(0, MPI_COMM_WORLD, &b[4]);
  await_marks(b[4], 2);
  }
  if (rank == 1) {
  open_board(0, MPI_COMM_WORLD, &b[4]);
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
  open_board(0, MPI_COMM_WORLD, &b[4]);
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
  /* step 1 begins: ranks aside */
  if (rank == 0) {
  open_board(1, MPI_COMM_WORLD, &b[20]);
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
  open_board(1, MPI_COMM_WORLD, &b[20]);
  await_marks(b[20], 2);
  }
  if (rank == 2) {
  open_board(1, MPI_COMM_WORLD, &b[20]);
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
  /* step 2 begins: ranks aside */
  if (rank == 0) {
  open_board(2, MPI_COMM_WORLD, &b[36]);
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
  open_board(2, MPI_COMM_WORLD, &b[36]);
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
  open_board(2, MPI_COMM_WORLD, &b[36]);
  await_marks(b[36], 2);
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
  /* step 3 begins: ranks aside */
  if (rank == 0) {
  open_board(3, MPI_COMM_WORLD, &b[52]);
  make(&b[49], 33);
  make(&b[50], 33);
  fill(b[49], 0, 1, 1, 33, 4096u, 0);
  must(MPI_Irecv(b[50], 33, MPI_UNSIGNED, 0, 4, MPI_COMM_WORLD, &r[50]), 3, "MPI_Irecv");
  must(MPI_Isend(b[49], 33, MPI_UNSIGNED, 0, 4, MPI_COMM_WORLD, &r[49]), 3, "MPI_Isend");
  complete(3, 5, &r[50], &s[50]);
  complete(3, 0, &r[49], &s[49]);
  expect(3, b[50], 0, 1, 1, 33, 4096u, 1, 0);
  expect_no_more(3, &b[50], 33);
  drop(&b[49]);
  make(&b[51], 8);
  fill(b[51], 0, 1, 1, 8, 4608u, 0);
  must(MPI_Isend(b[51], 8, MPI_UNSIGNED, 1, 4, MPI_COMM_WORLD, &r[51]), 3, "MPI_Isend");
  leave_mark(b[52]);
  }
  if (rank == 1 || rank == 2) {
  open_board(3, MPI_COMM_WORLD, &b[52]);
  await_marks(b[52], 1);
  }
  /* step 4 begins: ranks aside */
  if (rank == 0) {
  open_board(4, MPI_COMM_WORLD, &b[68]);
  make(&b[65], 1);
  make(&b[66], 1);
  fill(b[65], 0, 1, 1, 1, 5120u, 0);
  must(MPI_Irecv(b[66], 1, MPI_UNSIGNED, 1, 5, MPI_COMM_WORLD, &r[66]), 4, "MPI_Irecv");
  must(MPI_Isend(b[65], 1, MPI_UNSIGNED, 1, 5, MPI_COMM_WORLD, &r[65]), 4, "MPI_Isend");
  complete(4, 4, &r[66], &s[66]);
  complete(4, 5, &r[65], &s[65]);
  expect(4, b[66], 0, 1, 1, 1, 5121u, 1, 0);
  expect_no_more(4, &b[66], 1);
  drop(&b[65]);
  make(&b[67], 8);
  fill(b[67], 0, 1, 1, 8, 5632u, 0);
  must(MPI_Isend(b[67], 8, MPI_UNSIGNED, 2, 5, MPI_COMM_WORLD, &r[67]), 4, "MPI_Isend");
  leave_mark(b[68]);
  }
  if (rank == 1) {
  open_board(4, MPI_COMM_WORLD, &b[68]);
  make(&b[65], 1);
  make(&b[66], 1);
  fill(b[65], 0, 1, 1, 1, 5121u, 0);
  must(MPI_Irecv(b[66], 1, MPI_UNSIGNED, 0, 5, MPI_COMM_WORLD, &r[66]), 4, "MPI_Irecv");
  must(MPI_Isend(b[65], 1, MPI_UNSIGNED, 0, 5, MPI_COMM_WORLD, &r[65]), 4, "MPI_Isend");
  complete(4, 4, &r[66], &s[66]);
  complete(4, 5, &r[65], &s[65]);
  expect(4, b[66], 0, 1, 1, 1, 5120u, 1, 0);
  expect_no_more(4, &b[66], 1);
  drop(&b[65]);
  make(&b[67], 8);
  fill(b[67], 0, 1, 1, 8, 5633u, 0);
  must(MPI_Isend(b[67], 8, MPI_UNSIGNED, 2, 5, MPI_COMM_WORLD, &r[67]), 4, "MPI_Isend");
  leave_mark(b[68]);
  }
  if (rank == 2) {
  open_board(4, MPI_COMM_WORLD, &b[68]);
  await_marks(b[68], 2);
  }
  /* step 3 ends: ranks aside */
  if (rank == 0) {
  complete(3, 5, &r[51], &s[51]);
  drop(&b[51]);
  close_board(3, MPI_COMM_WORLD, &b[52]);
  }
  if (rank == 1) {
  make(&b[50], 8);
  must(MPI_Recv(b[50], 8, MPI_UNSIGNED, 0, 4, MPI_COMM_WORLD, &s[49]), 3, "MPI_Recv");
  expect(3, b[50], 0, 1, 1, 8, 4608u, 1, 0);
  expect_no_more(3, &b[50], 8);
  close_board(3, MPI_COMM_WORLD, &b[52]);
  }
  if (rank == 2) {
  close_board(3, MPI_COMM_WORLD, &b[52]);
  }
  /* step 5 begins: ranks aside */
  if (rank == 0 || rank == 1) {
  open_board(5, MPI_COMM_WORLD, &b[84]);
  await_marks(b[84], 1);
  }
  if (rank == 2) {
  open_board(5, MPI_COMM_WORLD, &b[84]);
  make(&b[81], 2);
  make(&b[82], 2);
  fill(b[81], 0, 1, 1, 2, 6146u, 0);
  must(MPI_Irecv(b[82], 2, MPI_UNSIGNED, 2, 6, MPI_COMM_WORLD, &r[82]), 5, "MPI_Irecv");
  must(MPI_Isend(b[81], 2, MPI_UNSIGNED, 2, 6, MPI_COMM_WORLD, &r[81]), 5, "MPI_Isend");
  complete(5, 4, &r[82], &s[82]);
  complete(5, 5, &r[81], &s[81]);
  expect(5, b[82], 0, 1, 1, 2, 6146u, 1, 0);
  expect_no_more(5, &b[82], 2);
  drop(&b[81]);
  make(&b[83], 8);
  fill(b[83], 0, 1, 1, 8, 6658u, 0);
  must(MPI_Isend(b[83], 8, MPI_UNSIGNED, 0, 6, MPI_COMM_WORLD, &r[83]), 5, "MPI_Isend");
  leave_mark(b[84]);
  }
  /* step 6 begins: ranks aside */
  if (rank == 0) {
  open_board(6, MPI_COMM_WORLD, &b[100]);
  await_marks(b[100], 2);
  }
  if (rank == 1) {
  open_board(6, MPI_COMM_WORLD, &b[100]);
  make(&b[97], 0);
  make(&b[98], 0);
  fill(b[97], 0, 1, 1, 0, 7169u, 0);
  must(MPI_Irecv(b[98], 0, MPI_UNSIGNED, 2, 7, MPI_COMM_WORLD, &r[98]), 6, "MPI_Irecv");
  must(MPI_Isend(b[97], 0, MPI_UNSIGNED, 2, 7, MPI_COMM_WORLD, &r[97]), 6, "MPI_Isend");
  complete(6, 4, &r[98], &s[98]);
  complete(6, 5, &r[97], &s[97]);
  expect(6, b[98], 0, 1, 1, 0, 7170u, 1, 0);
  expect_no_more(6, &b[98], 0);
  drop(&b[97]);
  make(&b[99], 8);
  fill(b[99], 0, 1, 1, 8, 7681u, 0);
  must(MPI_Isend(b[99], 8, MPI_UNSIGNED, 0, 7, MPI_COMM_WORLD, &r[99]), 6, "MPI_Isend");
  leave_mark(b[100]);
  }
  if (rank == 2) {
  open_board(6, MPI_COMM_WORLD, &b[100]);
  make(&b[97], 0);
  make(&b[98], 0);
  fill(b[97], 0, 1, 1, 0, 7170u, 0);
  must(MPI_Irecv(b[98], 0, MPI_UNSIGNED, 1, 7, MPI_COMM_WORLD, &r[98]), 6, "MPI_Irecv");
  must(MPI_Isend(b[97], 0, MPI_UNSIGNED, 1, 7, MPI_COMM_WORLD, &r[97]), 6, "MPI_Isend");
  complete(6, 4, &r[98], &s[98]);
  complete(6, 5, &r[97], &s[97]);
  expect(6, b[98], 0, 1, 1, 0, 7169u, 1, 0);
  expect_no_more(6, &b[98], 0);
  drop(&b[97]);
  make(&b[99], 8);
  fill(b[99], 0, 1, 1, 8, 7682u, 0);
  must(MPI_Isend(b[99], 8, MPI_UNSIGNED, 0, 7, MPI_COMM_WORLD, &r[99]), 6, "MPI_Isend");
  leave_mark(b[100]);
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
  /* step 5 ends: ranks aside */
  if (rank == 0) {
  make(&b[82], 8);
  must(MPI_Recv(b[82], 8, MPI_UNSIGNED, 2, 6, MPI_COMM_WORLD, &s[81]), 5, "MPI_Recv");
  expect(5, b[82], 0, 1, 1, 8, 6658u, 1, 0);
  expect_no_more(5, &b[82], 8);
  close_board(5, MPI_COMM_WORLD, &b[84]);
  }
  if (rank == 1) {
  close_board(5, MPI_COMM_WORLD, &b[84]);
  }
  if (rank == 2) {
  complete(5, 4, &r[83], &s[83]);
  drop(&b[83]);
  close_board(5, MPI_COMM_WORLD, &b[84]);
  }
  /* step 7 begins: ranks aside */
  if (rank == 0) {
  open_board(7, MPI_COMM_WORLD, &b[116]);
  make(&b[113], 512);
  make(&b[114], 512);
  fill(b[113], 0, 1, 1, 512, 8192u, 0);
  must(MPI_Irecv(b[114], 512, MPI_UNSIGNED, 2, 8, MPI_COMM_WORLD, &r[114]), 7, "MPI_Irecv");
  must(MPI_Isend(b[113], 512, MPI_UNSIGNED, 2, 8, MPI_COMM_WORLD, &r[113]), 7, "MPI_Isend");
  complete(7, 5, &r[114], &s[114]);
  complete(7, 0, &r[113], &s[113]);
  expect(7, b[114], 0, 1, 1, 512, 8194u, 1, 0);
  expect_no_more(7, &b[114], 512);
  drop(&b[113]);
  make(&b[115], 8);
  fill(b[115], 0, 1, 1, 8, 8704u, 0);
  must(MPI_Isend(b[115], 8, MPI_UNSIGNED, 1, 8, MPI_COMM_WORLD, &r[115]), 7, "MPI_Isend");
  leave_mark(b[116]);
  }
  if (rank == 1) {
  open_board(7, MPI_COMM_WORLD, &b[116]);
  await_marks(b[116], 2);
  }
  if (rank == 2) {
  open_board(7, MPI_COMM_WORLD, &b[116]);
  make(&b[113], 512);
  make(&b[114], 512);
  fill(b[113], 0, 1, 1, 512, 8194u, 0);
  must(MPI_Irecv(b[114], 512, MPI_UNSIGNED, 0, 8, MPI_COMM_WORLD, &r[114]), 7, "MPI_Irecv");
  must(MPI_Isend(b[113], 512, MPI_UNSIGNED, 0, 8, MPI_COMM_WORLD, &r[113]), 7, "MPI_Isend");
  complete(7, 5, &r[114], &s[114]);
  complete(7, 0, &r[113], &s[113]);
  expect(7, b[114], 0, 1, 1, 512, 8192u, 1, 0);
  expect_no_more(7, &b[114], 512);
  drop(&b[113]);
  make(&b[115], 8);
  fill(b[115], 0, 1, 1, 8, 8706u, 0);
  must(MPI_Isend(b[115], 8, MPI_UNSIGNED, 1, 8, MPI_COMM_WORLD, &r[115]), 7, "MPI_Isend");
  leave_mark(b[116]);
  }
  /* step 6 ends: ranks aside */
  if (rank == 0) {
  make(&b[98], 8);
  must(MPI_Recv(b[98], 8, MPI_UNSIGNED, 1, 7, MPI_COMM_WORLD, &s[97]), 6, "MPI_Recv");
  expect(6, b[98], 0, 1, 1, 8, 7681u, 1, 0);
  expect_no_more(6, &b[98], 8);
  make(&b[98], 8);
  must(MPI_Recv(b[98], 8, MPI_UNSIGNED, 2, 7, MPI_COMM_WORLD, &s[97]), 6, "MPI_Recv");
  expect(6, b[98], 0, 1, 1, 8, 7682u, 1, 0);
  expect_no_more(6, &b[98], 8);
  close_board(6, MPI_COMM_WORLD, &b[100]);
  }
  if (rank == 1 || rank == 2) {
  complete(6, 4, &r[99], &s[99]);
  drop(&b[99]);
  close_board(6, MPI_COMM_WORLD, &b[100]);
  }
  /* step 7 ends: ranks aside */
  if (rank == 0 || rank == 2) {
  complete(7, 5, &r[115], &s[115]);
  drop(&b[115]);
  close_board(7, MPI_COMM_WORLD, &b[116]);
  }
  if (rank == 1) {
  make(&b[114], 8);
  must(MPI_Recv(b[114], 8, MPI_UNSIGNED, 0, 8, MPI_COMM_WORLD, &s[113]), 7, "MPI_Recv");
  expect(7, b[114], 0, 1, 1, 8, 8704u, 1, 0);
  expect_no_more(7, &b[114], 8);
  make(&b[114], 8);
  must(MPI_Recv(b[114], 8, MPI_UNSIGNED, 2, 8, MPI_COMM_WORLD, &s[113]), 7, "MPI_Recv");
  expect(7, b[114], 0, 1, 1, 8, 8706u, 1, 0);
  expect_no_more(7, &b[114], 8);
  close_board(7, MPI_COMM_WORLD, &b[116]);
  }
  /* step 4 ends: ranks aside */
  if (rank == 0 || rank == 1) {
  complete(4, 4, &r[67], &s[67]);
  drop(&b[67]);
  close_board(4, MPI_COMM_WORLD, &b[68]);
  }
  if (rank == 2) {
  make(&b[66], 8);
  must(MPI_Recv(b[66], 8, MPI_UNSIGNED, 0, 5, MPI_COMM_WORLD, &s[65]), 4, "MPI_Recv");
  expect(4, b[66], 0, 1, 1, 8, 5632u, 1, 0);
  expect_no_more(4, &b[66], 8);
  make(&b[66], 8);
  must(MPI_Recv(b[66], 8, MPI_UNSIGNED, 1, 5, MPI_COMM_WORLD, &s[65]), 4, "MPI_Recv");
  expect(4, b[66], 0, 1, 1, 8, 5633u, 1, 0);
  expect_no_more(4, &b[66], 8);
  close_board(4, MPI_COMM_WORLD, &b[68]);
  }
  MPI_Finalize();
  return 0;
}
