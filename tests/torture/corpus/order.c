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

static inline void expect_count(int step, MPI_Status* status, int source, int tag, int words) {
  int bytes = -1;
  MPI_Get_elements(status, MPI_UNSIGNED, &bytes);
  if (bytes != words) failed(step, "elements in status", 0, (unsigned)bytes, (unsigned)words);
  if (status->MPI_SOURCE != source) failed(step, "source", 0, (unsigned)status->MPI_SOURCE, (unsigned)source);
  if (status->MPI_TAG != tag) failed(step, "tag", 0, (unsigned)status->MPI_TAG, (unsigned)tag);
}

static unsigned* b[1024];
static MPI_Comm c[1024];
static MPI_Request r[1024];
static MPI_Status s[1024];

int main(int argc, char** argv) {
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  /* step 0 begins: messages in order */
  if (rank == 0) {
  must(MPI_Comm_dup(MPI_COMM_WORLD, &c[1]), 0, "MPI_Comm_dup");
  make(&b[1], 14);
  fill(b[1], 0, 1, 1, 14, 1024u, 0);
  must(MPI_Isend(b[1], 14, MPI_UNSIGNED, 2, 0, c[1], &r[1]), 0, "MPI_Isend");
  }
  if (rank == 1) {
  must(MPI_Comm_dup(MPI_COMM_WORLD, &c[1]), 0, "MPI_Comm_dup");
  }
  if (rank == 2) {
  must(MPI_Comm_dup(MPI_COMM_WORLD, &c[1]), 0, "MPI_Comm_dup");
  make(&b[7], 14);
  must(MPI_Irecv(b[7], 14, MPI_UNSIGNED, 0, 0, c[1], &r[7]), 0, "MPI_Irecv");
  }
  /* step 0 ends: messages in order */
  if (rank == 0) {
  complete(0, 1, &r[1], &s[2]);
  drop(&b[1]);
  must(MPI_Comm_free(&c[1]), 0, "MPI_Comm_free");
  }
  if (rank == 1) {
  must(MPI_Comm_free(&c[1]), 0, "MPI_Comm_free");
  }
  if (rank == 2) {
  complete(0, 0, &r[7], &s[1]);
  expect_count(0, &s[1], 0, 0, 14);
  expect(0, b[7], 0, 1, 1, 14, 1024u, 1, 0);
  expect_no_more(0, &b[7], 14);
  must(MPI_Comm_free(&c[1]), 0, "MPI_Comm_free");
  }
  /* step 1 begins: messages in order */
  if (rank == 0) {
  must(MPI_Comm_dup(MPI_COMM_WORLD, &c[17]), 1, "MPI_Comm_dup");
  make(&b[23], 2050);
  must(MPI_Irecv(b[23], 2050, MPI_UNSIGNED, 0, 1, c[17], &r[23]), 1, "MPI_Irecv");
  make(&b[24], 2050);
  must(MPI_Irecv(b[24], 2050, MPI_UNSIGNED, MPI_ANY_SOURCE, 1, c[17], &r[24]), 1, "MPI_Irecv");
  make(&b[25], 2050);
  must(MPI_Irecv(b[25], 2050, MPI_UNSIGNED, 0, MPI_ANY_TAG, c[17], &r[25]), 1, "MPI_Irecv");
  make(&b[26], 2050);
  must(MPI_Irecv(b[26], 2050, MPI_UNSIGNED, 0, MPI_ANY_TAG, c[17], &r[26]), 1, "MPI_Irecv");
  make(&b[27], 2050);
  must(MPI_Irecv(b[27], 2050, MPI_UNSIGNED, MPI_ANY_SOURCE, MPI_ANY_TAG, c[17], &r[27]), 1, "MPI_Irecv");
  make(&b[17], 120);
  fill(b[17], 0, 1, 1, 120, 2048u, 0);
  must(MPI_Isend(b[17], 120, MPI_UNSIGNED, 0, 1, c[17], &r[17]), 1, "MPI_Isend");
  make(&b[18], 120);
  fill(b[18], 0, 1, 1, 120, 2049u, 0);
  must(MPI_Isend(b[18], 120, MPI_UNSIGNED, 0, 1, c[17], &r[18]), 1, "MPI_Isend");
  make(&b[19], 2050);
  fill(b[19], 0, 1, 1, 2050, 2050u, 0);
  must(MPI_Isend(b[19], 2050, MPI_UNSIGNED, 0, 2, c[17], &r[19]), 1, "MPI_Isend");
  make(&b[20], 15);
  fill(b[20], 0, 1, 1, 15, 2051u, 0);
  must(MPI_Isend(b[20], 15, MPI_UNSIGNED, 0, 2, c[17], &r[20]), 1, "MPI_Isend");
  make(&b[21], 16);
  fill(b[21], 0, 1, 1, 16, 2052u, 0);
  must(MPI_Isend(b[21], 16, MPI_UNSIGNED, 0, 2, c[17], &r[21]), 1, "MPI_Isend");
  }
  if (rank == 1 || rank == 2) {
  must(MPI_Comm_dup(MPI_COMM_WORLD, &c[17]), 1, "MPI_Comm_dup");
  }
  /* step 1 ends: messages in order */
  if (rank == 0) {
  complete(1, 4, &r[23], &s[17]);
  expect_count(1, &s[17], 0, 1, 120);
  expect(1, b[23], 0, 1, 1, 120, 2048u, 1, 0);
  expect_no_more(1, &b[23], 2050);
  complete(1, 4, &r[24], &s[17]);
  expect_count(1, &s[17], 0, 1, 120);
  expect(1, b[24], 0, 1, 1, 120, 2049u, 1, 0);
  expect_no_more(1, &b[24], 2050);
  complete(1, 4, &r[25], &s[17]);
  expect_count(1, &s[17], 0, 2, 2050);
  expect(1, b[25], 0, 1, 1, 2050, 2050u, 1, 0);
  expect_no_more(1, &b[25], 2050);
  complete(1, 4, &r[26], &s[17]);
  expect_count(1, &s[17], 0, 2, 15);
  expect(1, b[26], 0, 1, 1, 15, 2051u, 1, 0);
  expect_no_more(1, &b[26], 2050);
  complete(1, 4, &r[27], &s[17]);
  expect_count(1, &s[17], 0, 2, 16);
  expect(1, b[27], 0, 1, 1, 16, 2052u, 1, 0);
  expect_no_more(1, &b[27], 2050);
  complete(1, 5, &r[17], &s[18]);
  drop(&b[17]);
  complete(1, 5, &r[18], &s[18]);
  drop(&b[18]);
  complete(1, 5, &r[19], &s[18]);
  drop(&b[19]);
  complete(1, 5, &r[20], &s[18]);
  drop(&b[20]);
  complete(1, 5, &r[21], &s[18]);
  drop(&b[21]);
  must(MPI_Comm_free(&c[17]), 1, "MPI_Comm_free");
  }
  if (rank == 1 || rank == 2) {
  must(MPI_Comm_free(&c[17]), 1, "MPI_Comm_free");
  }
  /* step 2 begins: messages in order */
  if (rank == 0) {
  must(MPI_Comm_dup(MPI_COMM_WORLD, &c[33]), 2, "MPI_Comm_dup");
  make(&b[39], 16383);
  must(MPI_Irecv(b[39], 16383, MPI_UNSIGNED, MPI_ANY_SOURCE, MPI_ANY_TAG, c[33], &r[39]), 2, "MPI_Irecv");
  make(&b[40], 16383);
  must(MPI_Irecv(b[40], 16383, MPI_UNSIGNED, MPI_ANY_SOURCE, MPI_ANY_TAG, c[33], &r[40]), 2, "MPI_Irecv");
  make(&b[41], 16383);
  must(MPI_Irecv(b[41], 16383, MPI_UNSIGNED, 0, MPI_ANY_TAG, c[33], &r[41]), 2, "MPI_Irecv");
  make(&b[33], 16383);
  fill(b[33], 0, 1, 1, 16383, 3072u, 0);
  must(MPI_Isend(b[33], 16383, MPI_UNSIGNED, 0, 0, c[33], &r[33]), 2, "MPI_Isend");
  make(&b[34], 2);
  fill(b[34], 0, 1, 1, 2, 3073u, 0);
  must(MPI_Isend(b[34], 2, MPI_UNSIGNED, 0, 2, c[33], &r[34]), 2, "MPI_Isend");
  make(&b[35], 60);
  fill(b[35], 0, 1, 1, 60, 3074u, 0);
  must(MPI_Isend(b[35], 60, MPI_UNSIGNED, 0, 0, c[33], &r[35]), 2, "MPI_Isend");
  }
  if (rank == 1 || rank == 2) {
  must(MPI_Comm_dup(MPI_COMM_WORLD, &c[33]), 2, "MPI_Comm_dup");
  }
  /* step 2 ends: messages in order */
  if (rank == 0) {
  complete(2, 4, &r[39], &s[33]);
  expect_count(2, &s[33], 0, 0, 16383);
  expect(2, b[39], 0, 1, 1, 16383, 3072u, 1, 0);
  expect_no_more(2, &b[39], 16383);
  complete(2, 4, &r[40], &s[33]);
  expect_count(2, &s[33], 0, 2, 2);
  expect(2, b[40], 0, 1, 1, 2, 3073u, 1, 0);
  expect_no_more(2, &b[40], 16383);
  complete(2, 4, &r[41], &s[33]);
  expect_count(2, &s[33], 0, 0, 60);
  expect(2, b[41], 0, 1, 1, 60, 3074u, 1, 0);
  expect_no_more(2, &b[41], 16383);
  complete(2, 5, &r[33], &s[34]);
  drop(&b[33]);
  complete(2, 5, &r[34], &s[34]);
  drop(&b[34]);
  complete(2, 5, &r[35], &s[34]);
  drop(&b[35]);
  must(MPI_Comm_free(&c[33]), 2, "MPI_Comm_free");
  }
  if (rank == 1 || rank == 2) {
  must(MPI_Comm_free(&c[33]), 2, "MPI_Comm_free");
  }
  /* step 3 begins: messages in order */
  if (rank == 0) {
  must(MPI_Comm_dup(MPI_COMM_WORLD, &c[49]), 3, "MPI_Comm_dup");
  make(&b[55], 1);
  must(MPI_Irecv(b[55], 1, MPI_UNSIGNED, MPI_ANY_SOURCE, MPI_ANY_TAG, c[49], &r[55]), 3, "MPI_Irecv");
  }
  if (rank == 1) {
  must(MPI_Comm_dup(MPI_COMM_WORLD, &c[49]), 3, "MPI_Comm_dup");
  make(&b[49], 1);
  fill(b[49], 0, 1, 1, 1, 4096u, 0);
  must(MPI_Isend(b[49], 1, MPI_UNSIGNED, 0, 0, c[49], &r[49]), 3, "MPI_Isend");
  }
  if (rank == 2) {
  must(MPI_Comm_dup(MPI_COMM_WORLD, &c[49]), 3, "MPI_Comm_dup");
  }
  /* step 3 ends: messages in order */
  if (rank == 0) {
  complete(3, 5, &r[55], &s[49]);
  expect_count(3, &s[49], 1, 0, 1);
  expect(3, b[55], 0, 1, 1, 1, 4096u, 1, 0);
  expect_no_more(3, &b[55], 1);
  must(MPI_Comm_free(&c[49]), 3, "MPI_Comm_free");
  }
  if (rank == 1) {
  complete(3, 0, &r[49], &s[50]);
  drop(&b[49]);
  must(MPI_Comm_free(&c[49]), 3, "MPI_Comm_free");
  }
  if (rank == 2) {
  must(MPI_Comm_free(&c[49]), 3, "MPI_Comm_free");
  }
  /* step 4 begins: messages in order */
  if (rank == 0) {
  must(MPI_Comm_dup(MPI_COMM_WORLD, &c[65]), 4, "MPI_Comm_dup");
  }
  if (rank == 1) {
  must(MPI_Comm_dup(MPI_COMM_WORLD, &c[65]), 4, "MPI_Comm_dup");
  make(&b[65], 6);
  fill(b[65], 0, 1, 1, 6, 5120u, 0);
  must(MPI_Isend(b[65], 6, MPI_UNSIGNED, 2, 2, c[65], &r[65]), 4, "MPI_Isend");
  make(&b[66], 4095);
  fill(b[66], 0, 1, 1, 4095, 5121u, 0);
  must(MPI_Isend(b[66], 4095, MPI_UNSIGNED, 2, 0, c[65], &r[66]), 4, "MPI_Isend");
  make(&b[67], 16385);
  fill(b[67], 0, 1, 1, 16385, 5122u, 0);
  must(MPI_Isend(b[67], 16385, MPI_UNSIGNED, 2, 0, c[65], &r[67]), 4, "MPI_Isend");
  }
  if (rank == 2) {
  must(MPI_Comm_dup(MPI_COMM_WORLD, &c[65]), 4, "MPI_Comm_dup");
  make(&b[71], 16385);
  must(MPI_Irecv(b[71], 16385, MPI_UNSIGNED, MPI_ANY_SOURCE, MPI_ANY_TAG, c[65], &r[71]), 4, "MPI_Irecv");
  make(&b[72], 16385);
  must(MPI_Irecv(b[72], 16385, MPI_UNSIGNED, MPI_ANY_SOURCE, MPI_ANY_TAG, c[65], &r[72]), 4, "MPI_Irecv");
  make(&b[73], 16385);
  must(MPI_Irecv(b[73], 16385, MPI_UNSIGNED, 1, MPI_ANY_TAG, c[65], &r[73]), 4, "MPI_Irecv");
  }
  /* step 5 begins: messages in order */
  if (rank == 0) {
  must(MPI_Comm_dup(MPI_COMM_WORLD, &c[81]), 5, "MPI_Comm_dup");
  }
  if (rank == 1) {
  must(MPI_Comm_dup(MPI_COMM_WORLD, &c[81]), 5, "MPI_Comm_dup");
  make(&b[87], 4096);
  must(MPI_Irecv(b[87], 4096, MPI_UNSIGNED, MPI_ANY_SOURCE, MPI_ANY_TAG, c[81], &r[87]), 5, "MPI_Irecv");
  make(&b[88], 4096);
  must(MPI_Irecv(b[88], 4096, MPI_UNSIGNED, 2, MPI_ANY_TAG, c[81], &r[88]), 5, "MPI_Irecv");
  }
  if (rank == 2) {
  must(MPI_Comm_dup(MPI_COMM_WORLD, &c[81]), 5, "MPI_Comm_dup");
  make(&b[81], 4096);
  fill(b[81], 0, 1, 1, 4096, 6144u, 0);
  must(MPI_Isend(b[81], 4096, MPI_UNSIGNED, 1, 0, c[81], &r[81]), 5, "MPI_Isend");
  make(&b[82], 33);
  fill(b[82], 0, 1, 1, 33, 6145u, 0);
  must(MPI_Isend(b[82], 33, MPI_UNSIGNED, 1, 2, c[81], &r[82]), 5, "MPI_Isend");
  }
  /* step 6 begins: messages in order */
  if (rank == 0) {
  must(MPI_Comm_dup(MPI_COMM_WORLD, &c[97]), 6, "MPI_Comm_dup");
  make(&b[103], 16383);
  must(MPI_Irecv(b[103], 16383, MPI_UNSIGNED, 2, 2, c[97], &r[103]), 6, "MPI_Irecv");
  make(&b[104], 16383);
  must(MPI_Irecv(b[104], 16383, MPI_UNSIGNED, MPI_ANY_SOURCE, MPI_ANY_TAG, c[97], &r[104]), 6, "MPI_Irecv");
  make(&b[105], 16383);
  must(MPI_Irecv(b[105], 16383, MPI_UNSIGNED, 2, 2, c[97], &r[105]), 6, "MPI_Irecv");
  }
  if (rank == 1) {
  must(MPI_Comm_dup(MPI_COMM_WORLD, &c[97]), 6, "MPI_Comm_dup");
  }
  if (rank == 2) {
  must(MPI_Comm_dup(MPI_COMM_WORLD, &c[97]), 6, "MPI_Comm_dup");
  make(&b[97], 13672);
  fill(b[97], 0, 1, 1, 13672, 7168u, 0);
  must(MPI_Isend(b[97], 13672, MPI_UNSIGNED, 0, 2, c[97], &r[97]), 6, "MPI_Isend");
  make(&b[98], 1022);
  fill(b[98], 0, 1, 1, 1022, 7169u, 0);
  must(MPI_Isend(b[98], 1022, MPI_UNSIGNED, 0, 1, c[97], &r[98]), 6, "MPI_Isend");
  make(&b[99], 16383);
  fill(b[99], 0, 1, 1, 16383, 7170u, 0);
  must(MPI_Isend(b[99], 16383, MPI_UNSIGNED, 0, 2, c[97], &r[99]), 6, "MPI_Isend");
  }
  /* step 7 begins: messages in order */
  if (rank == 0 || rank == 2) {
  must(MPI_Comm_dup(MPI_COMM_WORLD, &c[113]), 7, "MPI_Comm_dup");
  }
  if (rank == 1) {
  must(MPI_Comm_dup(MPI_COMM_WORLD, &c[113]), 7, "MPI_Comm_dup");
  make(&b[113], 17);
  fill(b[113], 0, 1, 1, 17, 8192u, 0);
  must(MPI_Isend(b[113], 17, MPI_UNSIGNED, 2, 2, c[113], &r[113]), 7, "MPI_Isend");
  make(&b[114], 240);
  fill(b[114], 0, 1, 1, 240, 8193u, 0);
  must(MPI_Isend(b[114], 240, MPI_UNSIGNED, 2, 1, c[113], &r[114]), 7, "MPI_Isend");
  make(&b[115], 31);
  fill(b[115], 0, 1, 1, 31, 8194u, 0);
  must(MPI_Isend(b[115], 31, MPI_UNSIGNED, 2, 2, c[113], &r[115]), 7, "MPI_Isend");
  make(&b[116], 17);
  fill(b[116], 0, 1, 1, 17, 8195u, 0);
  must(MPI_Isend(b[116], 17, MPI_UNSIGNED, 2, 1, c[113], &r[116]), 7, "MPI_Isend");
  }
  /* step 7 ends: messages in order */
  if (rank == 0) {
  must(MPI_Comm_free(&c[113]), 7, "MPI_Comm_free");
  }
  if (rank == 1) {
  complete(7, 0, &r[113], &s[114]);
  drop(&b[113]);
  complete(7, 0, &r[114], &s[114]);
  drop(&b[114]);
  complete(7, 0, &r[115], &s[114]);
  drop(&b[115]);
  complete(7, 0, &r[116], &s[114]);
  drop(&b[116]);
  must(MPI_Comm_free(&c[113]), 7, "MPI_Comm_free");
  }
  if (rank == 2) {
  make(&b[119], 240);
  must(MPI_Irecv(b[119], 240, MPI_UNSIGNED, 1, MPI_ANY_TAG, c[113], &r[119]), 7, "MPI_Irecv");
  make(&b[120], 240);
  must(MPI_Irecv(b[120], 240, MPI_UNSIGNED, MPI_ANY_SOURCE, MPI_ANY_TAG, c[113], &r[120]), 7, "MPI_Irecv");
  make(&b[121], 240);
  must(MPI_Irecv(b[121], 240, MPI_UNSIGNED, 1, MPI_ANY_TAG, c[113], &r[121]), 7, "MPI_Irecv");
  make(&b[122], 240);
  must(MPI_Irecv(b[122], 240, MPI_UNSIGNED, 1, MPI_ANY_TAG, c[113], &r[122]), 7, "MPI_Irecv");
  complete(7, 5, &r[122], &s[113]);
  expect_count(7, &s[113], 1, 1, 17);
  expect(7, b[122], 0, 1, 1, 17, 8195u, 1, 0);
  expect_no_more(7, &b[122], 240);
  complete(7, 5, &r[121], &s[113]);
  expect_count(7, &s[113], 1, 2, 31);
  expect(7, b[121], 0, 1, 1, 31, 8194u, 1, 0);
  expect_no_more(7, &b[121], 240);
  complete(7, 5, &r[120], &s[113]);
  expect_count(7, &s[113], 1, 1, 240);
  expect(7, b[120], 0, 1, 1, 240, 8193u, 1, 0);
  expect_no_more(7, &b[120], 240);
  complete(7, 5, &r[119], &s[113]);
  expect_count(7, &s[113], 1, 2, 17);
  expect(7, b[119], 0, 1, 1, 17, 8192u, 1, 0);
  expect_no_more(7, &b[119], 240);
  must(MPI_Comm_free(&c[113]), 7, "MPI_Comm_free");
  }
  /* step 6 ends: messages in order */
  if (rank == 0) {
  complete(6, 1, &r[105], &s[97]);
  expect_count(6, &s[97], 2, 2, 16383);
  expect(6, b[105], 0, 1, 1, 16383, 7170u, 1, 0);
  expect_no_more(6, &b[105], 16383);
  complete(6, 1, &r[104], &s[97]);
  expect_count(6, &s[97], 2, 1, 1022);
  expect(6, b[104], 0, 1, 1, 1022, 7169u, 1, 0);
  expect_no_more(6, &b[104], 16383);
  complete(6, 1, &r[103], &s[97]);
  expect_count(6, &s[97], 2, 2, 13672);
  expect(6, b[103], 0, 1, 1, 13672, 7168u, 1, 0);
  expect_no_more(6, &b[103], 16383);
  must(MPI_Comm_free(&c[97]), 6, "MPI_Comm_free");
  }
  if (rank == 1) {
  must(MPI_Comm_free(&c[97]), 6, "MPI_Comm_free");
  }
  if (rank == 2) {
  complete(6, 2, &r[97], &s[98]);
  drop(&b[97]);
  complete(6, 2, &r[98], &s[98]);
  drop(&b[98]);
  complete(6, 2, &r[99], &s[98]);
  drop(&b[99]);
  must(MPI_Comm_free(&c[97]), 6, "MPI_Comm_free");
  }
  /* step 5 ends: messages in order */
  if (rank == 0) {
  must(MPI_Comm_free(&c[81]), 5, "MPI_Comm_free");
  }
  if (rank == 1) {
  complete(5, 1, &r[88], &s[81]);
  expect_count(5, &s[81], 2, 2, 33);
  expect(5, b[88], 0, 1, 1, 33, 6145u, 1, 0);
  expect_no_more(5, &b[88], 4096);
  complete(5, 1, &r[87], &s[81]);
  expect_count(5, &s[81], 2, 0, 4096);
  expect(5, b[87], 0, 1, 1, 4096, 6144u, 1, 0);
  expect_no_more(5, &b[87], 4096);
  must(MPI_Comm_free(&c[81]), 5, "MPI_Comm_free");
  }
  if (rank == 2) {
  complete(5, 2, &r[81], &s[82]);
  drop(&b[81]);
  complete(5, 2, &r[82], &s[82]);
  drop(&b[82]);
  must(MPI_Comm_free(&c[81]), 5, "MPI_Comm_free");
  }
  /* step 4 ends: messages in order */
  if (rank == 0) {
  must(MPI_Comm_free(&c[65]), 4, "MPI_Comm_free");
  }
  if (rank == 1) {
  complete(4, 4, &r[65], &s[66]);
  drop(&b[65]);
  complete(4, 4, &r[66], &s[66]);
  drop(&b[66]);
  complete(4, 4, &r[67], &s[66]);
  drop(&b[67]);
  must(MPI_Comm_free(&c[65]), 4, "MPI_Comm_free");
  }
  if (rank == 2) {
  complete(4, 3, &r[73], &s[65]);
  expect_count(4, &s[65], 1, 0, 16385);
  expect(4, b[73], 0, 1, 1, 16385, 5122u, 1, 0);
  expect_no_more(4, &b[73], 16385);
  complete(4, 3, &r[72], &s[65]);
  expect_count(4, &s[65], 1, 0, 4095);
  expect(4, b[72], 0, 1, 1, 4095, 5121u, 1, 0);
  expect_no_more(4, &b[72], 16385);
  complete(4, 3, &r[71], &s[65]);
  expect_count(4, &s[65], 1, 2, 6);
  expect(4, b[71], 0, 1, 1, 6, 5120u, 1, 0);
  expect_no_more(4, &b[71], 16385);
  must(MPI_Comm_free(&c[65]), 4, "MPI_Comm_free");
  }
  MPI_Finalize();
  return 0;
}
