/* torture --seed 242; 3 ranks */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

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

static inline void attach_buffer(int bytes) {
  must(MPI_Buffer_attach(malloc((size_t)bytes), bytes), -1, "MPI_Buffer_attach");
}

static inline void detach_buffer(void) {
  void* buffer = 0;
  int bytes = 0;
  must(MPI_Buffer_detach(&buffer, &bytes), -1, "MPI_Buffer_detach");
  free(buffer);
}

static inline void expect_cancelled(int step, MPI_Status* status) {
  int flag = 0;
  MPI_Test_cancelled(status, &flag);
  if (!flag) failed(step, "cancelled", 0, 0, 1);
}

static inline void cancel_send(int step, MPI_Request* request, MPI_Status* status, int to, int tag, MPI_Comm comm) {
  int flag = 0;
  must(MPI_Cancel(request), step, "MPI_Cancel");
  must(MPI_Wait(request, status), step, "MPI_Wait");
  MPI_Test_cancelled(status, &flag);
  must(MPI_Send(&flag, 1, MPI_INT, to, tag, comm), step, "MPI_Send");
}

static inline void receive_what_was_sent(int step, unsigned* at, int words, int from, int tag, MPI_Comm comm, unsigned key) {
  int cancelled = 0;
  int there = 0;
  must(MPI_Recv(&cancelled, 1, MPI_INT, from, tag + 1000, comm, MPI_STATUS_IGNORE), step, "MPI_Recv");
  must(MPI_Iprobe(from, tag, comm, &there, MPI_STATUS_IGNORE), step, "MPI_Iprobe");
  if (cancelled && there) failed(step, "message that was cancelled", 0, 1, 0);
  if (cancelled) return;
  must(MPI_Recv(at, words, MPI_UNSIGNED, from, tag, comm, MPI_STATUS_IGNORE), step, "MPI_Recv");
  expect(step, at, 0, 1, 1, words, key, 1, 0);
}

static inline void compute(int rounds) {
  volatile int i = 0;
  while (i < rounds) i = i + 1;
}

static unsigned* b[1024];
static int* m[1024];
static MPI_Datatype t[1024];
static MPI_Request r[1024];
static MPI_Message h[1024];
static MPI_Status s[1024];
static int a0[] = {0, 4, 8, 12, 16, 20};
static int a1[] = {2, 2};
static int a2[] = {2, 1};
static int a3[] = {0, 0};
static int a4[] = {4, 4};
static int a5[] = {1, 2};
static int a6[] = {24, 26, 40, 42};
static int a7[] = {-2, 2};
static MPI_Aint a8[] = {-56};
static int a9[] = {-16, -15, -14, -12, -11, -10};

int main(int argc, char** argv) {
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  attach_buffer(4616);
  /* step 0 begins: message */
  if (rank == 1) {
  make(&b[1], 1026);
  fill(b[1], 0, 1, 1, 1026, 1024u, 0);
  compute(65169);
  must(MPI_Ibsend(b[1], 1026, MPI_UNSIGNED, 2, 1, MPI_COMM_WORLD, &r[1]), 0, "MPI_Ibsend");
  }
  if (rank == 2) {
  make(&b[3], 1026);
  must(MPI_Recv(b[3], 1026, MPI_UNSIGNED, 1, 1, MPI_COMM_WORLD, &s[1]), 0, "MPI_Recv");
  }
  /* step 0 ends: message */
  if (rank == 1) {
  complete(0, 0, &r[1], &s[2]);
  expect(0, b[1], 0, 1, 1, 1026, 1024u, 1, 0);
  expect_no_more(0, &b[1], 1026);
  }
  if (rank == 2) {
  expect_count(0, &s[1], 1, 1, 1026);
  expect(0, b[3], 0, 1, 1, 1026, 1024u, 1, 0);
  expect_no_more(0, &b[3], 1026);
  }
  /* step 1 begins: cancelled message */
  if (rank == 1) {
  make(&b[18], 11);
  }
  if (rank == 2) {
  make(&b[17], 11);
  fill(b[17], 0, 1, 1, 11, 2048u, 0);
  must(MPI_Isend(b[17], 11, MPI_UNSIGNED, 1, 2, MPI_COMM_WORLD, &r[17]), 1, "MPI_Isend");
  }
  /* step 1 ends: cancelled message */
  if (rank == 1) {
  receive_what_was_sent(1, b[18], 11, 2, 2, MPI_COMM_WORLD, 2048u);
  expect_no_more(1, &b[18], 11);
  }
  if (rank == 2) {
  cancel_send(1, &r[17], &s[18], 1, 1002, MPI_COMM_WORLD);
  expect(1, b[17], 0, 1, 1, 11, 2048u, 1, 0);
  expect_no_more(1, &b[17], 11);
  }
  /* step 2 begins: message */
  if (rank == 1) {
  make(&b[35], 120);
  must(MPI_Mprobe(2, 3, MPI_COMM_WORLD, &h[33], &s[33]), 2, "MPI_Mprobe");
  expect_count(2, &s[33], 2, 3, 120);
  must(MPI_Mrecv(b[35], 120, MPI_UNSIGNED, &h[33], &s[33]), 2, "MPI_Mrecv");
  }
  if (rank == 2) {
  make(&b[33], 120);
  fill(b[33], 0, 1, 1, 120, 3072u, 0);
  must(MPI_Issend(b[33], 120, MPI_UNSIGNED, 1, 3, MPI_COMM_WORLD, &r[33]), 2, "MPI_Issend");
  }
  /* step 2 ends: message */
  if (rank == 1) {
  expect_count(2, &s[33], 2, 3, 120);
  expect(2, b[35], 0, 1, 1, 120, 3072u, 1, 0);
  expect_no_more(2, &b[35], 120);
  }
  if (rank == 2) {
  complete(2, 0, &r[33], &s[34]);
  expect(2, b[33], 0, 1, 1, 120, 3072u, 1, 0);
  expect_no_more(2, &b[33], 120);
  }
  /* step 3 begins: message */
  if (rank == 1) {
  make(&b[49], 206160);
  fill(b[49], 0, 1, 1, 206160, 4096u, 0);
  must(MPI_Type_vector(6, 1, 4, MPI_UNSIGNED, &t[51]), 3, "MPI_Type_vector");
  must(MPI_Type_create_resized(t[51], 0, 92, &t[52]), 3, "MPI_Type_create_resized");
  must(MPI_Type_free(&t[51]), 3, "MPI_Type_free");
  must(MPI_Type_commit(&t[52]), 3, "MPI_Type_commit");
  m[52] = a0;
  make(&b[51], 790278);
  must(MPI_Issend(b[49], 206160, MPI_UNSIGNED, 1, 4, MPI_COMM_WORLD, &r[49]), 3, "MPI_Issend");
  must(MPI_Recv(b[51], 34360, t[52], 1, 4, MPI_COMM_WORLD, &s[49]), 3, "MPI_Recv");
  must(MPI_Type_free(&t[52]), 3, "MPI_Type_free");
  }
  /* step 4 begins: ring */
  if (rank == 0) {
  make(&b[65], 9);
  fill(b[65], 0, 1, 1, 9, 5120u, 0);
  make(&b[66], 9);
  must(MPI_Sendrecv(b[65], 9, MPI_UNSIGNED, 1, 5, b[66], 9, MPI_UNSIGNED, 2, 5, MPI_COMM_WORLD, &s[65]), 4, "MPI_Sendrecv");
  expect(4, b[65], 0, 1, 1, 9, 5120u, 1, 0);
  expect_no_more(4, &b[65], 9);
  expect_count(4, &s[65], 2, 5, 9);
  expect(4, b[66], 0, 1, 1, 9, 5122u, 1, 0);
  expect_no_more(4, &b[66], 9);
  }
  if (rank == 1) {
  make(&b[65], 9);
  fill(b[65], 0, 1, 1, 9, 5121u, 0);
  make(&b[66], 9);
  must(MPI_Sendrecv(b[65], 9, MPI_UNSIGNED, 2, 5, b[66], 9, MPI_UNSIGNED, 0, 5, MPI_COMM_WORLD, &s[65]), 4, "MPI_Sendrecv");
  expect(4, b[65], 0, 1, 1, 9, 5121u, 1, 0);
  expect_no_more(4, &b[65], 9);
  expect_count(4, &s[65], 0, 5, 9);
  expect(4, b[66], 0, 1, 1, 9, 5120u, 1, 0);
  expect_no_more(4, &b[66], 9);
  }
  if (rank == 2) {
  make(&b[65], 9);
  fill(b[65], 0, 1, 1, 9, 5122u, 0);
  make(&b[66], 9);
  must(MPI_Sendrecv(b[65], 9, MPI_UNSIGNED, 0, 5, b[66], 9, MPI_UNSIGNED, 1, 5, MPI_COMM_WORLD, &s[65]), 4, "MPI_Sendrecv");
  expect(4, b[65], 0, 1, 1, 9, 5122u, 1, 0);
  expect_no_more(4, &b[65], 9);
  expect_count(4, &s[65], 1, 5, 9);
  expect(4, b[66], 0, 1, 1, 9, 5121u, 1, 0);
  expect_no_more(4, &b[66], 9);
  }
  /* step 5 begins: message */
  if (rank == 0) {
  must(MPI_Type_create_subarray(2, a1, a2, a3, MPI_ORDER_C, MPI_UNSIGNED, &t[84]), 5, "MPI_Type_create_subarray");
  must(MPI_Type_create_subarray(2, a4, a2, a5, MPI_ORDER_C, t[84], &t[83]), 5, "MPI_Type_create_subarray");
  must(MPI_Type_free(&t[84]), 5, "MPI_Type_free");
  must(MPI_Type_create_resized(t[83], -4, 260, &t[84]), 5, "MPI_Type_create_resized");
  must(MPI_Type_free(&t[83]), 5, "MPI_Type_free");
  must(MPI_Type_commit(&t[84]), 5, "MPI_Type_commit");
  m[84] = a6;
  make(&b[83], 734);
  must(MPI_Irecv(b[83] + -24, 12, t[84], 2, 6, MPI_COMM_WORLD, &r[82]), 5, "MPI_Irecv");
  must(MPI_Type_free(&t[84]), 5, "MPI_Type_free");
  }
  if (rank == 2) {
  must(MPI_Type_create_indexed_block(2, 3, a7, MPI_UNSIGNED, &t[81]), 5, "MPI_Type_create_indexed_block");
  must(MPI_Type_create_hindexed_block(1, 1, a8, t[81], &t[82]), 5, "MPI_Type_create_hindexed_block");
  must(MPI_Type_free(&t[81]), 5, "MPI_Type_free");
  must(MPI_Type_commit(&t[82]), 5, "MPI_Type_commit");
  m[82] = a9;
  make(&b[81], 56);
  fill(b[81] + 16, m[82], 6, 7, 48, 6144u, 0);
  must(MPI_Ssend_init(b[81] + 16, 8, t[82], 0, 6, MPI_COMM_WORLD, &r[81]), 5, "MPI_Ssend_init");
  must(MPI_Start(&r[81]), 5, "MPI_Start");
  must(MPI_Type_free(&t[82]), 5, "MPI_Type_free");
  }
  /* step 5 ends: message */
  if (rank == 0) {
  complete(5, 3, &r[82], &s[81]);
  expect_count(5, &s[81], 2, 6, 48);
  expect(5, b[83] + -24, m[84], 4, 65, 48, 6144u, 1, 0);
  expect_no_more(5, &b[83], 734);
  }
  if (rank == 2) {
  complete(5, 3, &r[81], &s[82]);
  must(MPI_Request_free(&r[81]), 5, "MPI_Request_free");
  expect(5, b[81] + 16, m[82], 6, 7, 48, 6144u, 1, 0);
  expect_no_more(5, &b[81], 56);
  }
  /* step 3 ends: message */
  if (rank == 1) {
  expect_count(3, &s[49], 1, 4, 206160);
  expect(3, b[51], m[52], 6, 23, 206160, 4096u, 1, 0);
  expect_no_more(3, &b[51], 790278);
  complete(3, 1, &r[49], &s[50]);
  expect(3, b[49], 0, 1, 1, 206160, 4096u, 1, 0);
  expect_no_more(3, &b[49], 206160);
  }
  /* step 4 ends: ring */
  /* step 6 begins: cancelled message */
  if (rank == 0) {
  make(&b[98], 512);
  must(MPI_Irecv(b[98], 512, MPI_UNSIGNED, 1, 7, MPI_COMM_WORLD, &r[98]), 6, "MPI_Irecv");
  }
  /* step 6 ends: cancelled message */
  if (rank == 0) {
  must(MPI_Cancel(&r[98]), 6, "MPI_Cancel");
  must(MPI_Wait(&r[98], &s[97]), 6, "MPI_Wait");
  expect_cancelled(6, &s[97]);
  expect_no_more(6, &b[98], 512);
  }
  detach_buffer();
  MPI_Finalize();
  return 0;
}
