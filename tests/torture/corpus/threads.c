/* torture --seed 7; 2 ranks */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <pthread.h>

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

static inline void expect_size(int step, MPI_Comm comm, int size, int rank) {
  int is = -1;
  MPI_Comm_size(comm, &is);
  if (is != size) failed(step, "size of communicator", 0, (unsigned)is, (unsigned)size);
  MPI_Comm_rank(comm, &is);
  if (is != rank) failed(step, "rank in communicator", 0, (unsigned)is, (unsigned)rank);
}

static inline void part_of_array(int step, int all, int place, const int* sizes, const int* blocks, const int* parts, MPI_Datatype from, MPI_Datatype* to) {
  int kinds[2] = {
    MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_BLOCK  }
  ;
  must(MPI_Type_create_darray(all, place, 2, sizes, kinds, blocks, parts, MPI_ORDER_C, from, to), step, "MPI_Type_create_darray");
}

static inline void compute(int rounds) {
  volatile int i = 0;
  while (i < rounds) i = i + 1;
}

static unsigned* b[5120];
static int* m[5120];
static MPI_Comm c[5120];
static MPI_Datatype t[5120];
static MPI_Request r[5120];
static MPI_Message h[5120];
static MPI_Status s[5120];
static int a0[] = {0, 1, 2};
static int a1[] = {2, 2};
static int a2[] = {1, 1};
static int a3[] = {3, 3};
static int a4[] = {51};
static int a5[] = {0, -3};

static void* thread0(void* none) {
  must(MPI_Comm_dup(c[33], &c[1041]), 1, "MPI_Comm_dup");
  make(&b[1041], 33);
  fill(b[1041], 0, 1, 1, 33, 788480u, 0);
  must(MPI_Isend(b[1041], 33, MPI_UNSIGNED, 0, 0, c[1041], &r[1041]), 1, "MPI_Isend");
  make(&b[1042], 31);
  fill(b[1042], 0, 1, 1, 31, 788481u, 0);
  must(MPI_Isend(b[1042], 31, MPI_UNSIGNED, 0, 2, c[1041], &r[1042]), 1, "MPI_Isend");
  make(&b[1043], 12);
  fill(b[1043], 0, 1, 1, 12, 788482u, 0);
  must(MPI_Isend(b[1043], 12, MPI_UNSIGNED, 0, 1, c[1041], &r[1043]), 1, "MPI_Isend");
  make(&b[1058], 8191);
  must(MPI_Irecv(b[1058], 8191, MPI_UNSIGNED, 0, 3, c[33], &r[1058]), 2, "MPI_Irecv");
  make(&b[1047], 33);
  must(MPI_Irecv(b[1047], 33, MPI_UNSIGNED, 0, MPI_ANY_TAG, c[1041], &r[1047]), 1, "MPI_Irecv");
  make(&b[1048], 33);
  must(MPI_Irecv(b[1048], 33, MPI_UNSIGNED, MPI_ANY_SOURCE, MPI_ANY_TAG, c[1041], &r[1048]), 1, "MPI_Irecv");
  make(&b[1049], 33);
  must(MPI_Irecv(b[1049], 33, MPI_UNSIGNED, MPI_ANY_SOURCE, MPI_ANY_TAG, c[1041], &r[1049]), 1, "MPI_Irecv");
  complete(1, 2, &r[1047], &s[1041]);
  expect_count(1, &s[1041], 0, 0, 33);
  expect(1, b[1047], 0, 1, 1, 33, 788480u, 1, 0);
  expect_no_more(1, &b[1047], 33);
  complete(1, 2, &r[1048], &s[1041]);
  expect_count(1, &s[1041], 0, 2, 31);
  expect(1, b[1048], 0, 1, 1, 31, 788481u, 1, 0);
  expect_no_more(1, &b[1048], 33);
  complete(1, 2, &r[1049], &s[1041]);
  expect_count(1, &s[1041], 0, 1, 12);
  expect(1, b[1049], 0, 1, 1, 12, 788482u, 1, 0);
  expect_no_more(1, &b[1049], 33);
  complete(1, 3, &r[1041], &s[1042]);
  drop(&b[1041]);
  complete(1, 3, &r[1042], &s[1042]);
  drop(&b[1042]);
  complete(1, 3, &r[1043], &s[1042]);
  drop(&b[1043]);
  must(MPI_Comm_free(&c[1041]), 1, "MPI_Comm_free");
  must(MPI_Comm_split(c[33], 0, 0, &c[1073]), 3, "MPI_Comm_split");
  expect_size(3, c[1073], 1, 0);
  must(MPI_Comm_free(&c[1073]), 3, "MPI_Comm_free");
  must(MPI_Cancel(&r[1058]), 2, "MPI_Cancel");
  must(MPI_Wait(&r[1058], &s[1057]), 2, "MPI_Wait");
  expect_cancelled(2, &s[1057]);
  expect_no_more(2, &b[1058], 8191);
  make(&b[1089], 0);
  fill(b[1089], 0, 1, 1, 0, 791552u, 0);
  make(&b[1091], 0);
  must(MPI_Recv_init(b[1091], 0, MPI_UNSIGNED, 0, 5, c[33], &r[1090]), 4, "MPI_Recv_init");
  must(MPI_Start(&r[1090]), 4, "MPI_Start");
  must(MPI_Ssend_init(b[1089], 0, MPI_UNSIGNED, 0, 5, c[33], &r[1089]), 4, "MPI_Ssend_init");
  must(MPI_Start(&r[1089]), 4, "MPI_Start");
  complete(4, 2, &r[1090], &s[1089]);
  must(MPI_Request_free(&r[1090]), 4, "MPI_Request_free");
  expect_count(4, &s[1089], 0, 5, 0);
  expect(4, b[1091], 0, 1, 1, 0, 791552u, 1, 0);
  expect_no_more(4, &b[1091], 0);
  complete(4, 5, &r[1089], &s[1090]);
  must(MPI_Request_free(&r[1089]), 4, "MPI_Request_free");
  expect(4, b[1089], 0, 1, 1, 0, 791552u, 1, 0);
  expect_no_more(4, &b[1089], 0);
  return none;
}

static void* thread1(void* none) {
  must(MPI_Type_vector(1, 3, 4, MPI_UNSIGNED, &t[2050]), 0, "MPI_Type_vector");
  must(MPI_Type_create_resized(t[2050], 0, 12, &t[2049]), 0, "MPI_Type_create_resized");
  must(MPI_Type_free(&t[2050]), 0, "MPI_Type_free");
  must(MPI_Type_vector(1, 1, 4, t[2049], &t[2050]), 0, "MPI_Type_vector");
  must(MPI_Type_free(&t[2049]), 0, "MPI_Type_free");
  must(MPI_Type_commit(&t[2050]), 0, "MPI_Type_commit");
  m[2050] = a0;
  make(&b[2049], 0);
  fill(b[2049], m[2050], 3, 3, 0, 852992u, 0);
  compute(36706);
  make(&b[2051], 0);
  must(MPI_Isend(b[2049], 0, t[2050], 0, 1, c[34], &r[2049]), 0, "MPI_Isend");
  must(MPI_Probe(MPI_ANY_SOURCE, 1, c[34], &s[2049]), 0, "MPI_Probe");
  expect_count(0, &s[2049], 0, 1, 0);
  must(MPI_Recv(b[2051], 0, MPI_UNSIGNED, MPI_ANY_SOURCE, 1, c[34], &s[2049]), 0, "MPI_Recv");
  must(MPI_Type_free(&t[2050]), 0, "MPI_Type_free");
  expect_count(0, &s[2049], 0, 1, 0);
  expect(0, b[2051], 0, 1, 1, 0, 852992u, 1, 0);
  expect_no_more(0, &b[2051], 0);
  complete(0, 2, &r[2049], &s[2050]);
  expect(0, b[2049], m[2050], 3, 3, 0, 852992u, 1, 0);
  expect_no_more(0, &b[2049], 0);
  return none;
}

static void* thread2(void* none) {
  must(MPI_Type_create_subarray(2, a1, a2, a2, MPI_ORDER_C, MPI_UNSIGNED, &t[1026]), 0, "MPI_Type_create_subarray");
  must(MPI_Type_create_resized(t[1026], -4, 24, &t[1025]), 0, "MPI_Type_create_resized");
  must(MPI_Type_free(&t[1026]), 0, "MPI_Type_free");
  part_of_array(0, 9, 8, a3, a2, a3, t[1025], &t[1026]);
  must(MPI_Type_free(&t[1025]), 0, "MPI_Type_free");
  must(MPI_Type_commit(&t[1026]), 0, "MPI_Type_commit");
  m[1026] = a4;
  make(&b[1025], 0);
  fill(b[1025] + -51, m[1026], 1, 54, 0, 787456u, 0);
  must(MPI_Type_create_hvector(2, 1, -12, MPI_UNSIGNED, &t[1028]), 0, "MPI_Type_create_hvector");
  must(MPI_Type_dup(t[1028], &t[1027]), 0, "MPI_Type_dup");
  must(MPI_Type_free(&t[1028]), 0, "MPI_Type_free");
  must(MPI_Type_contiguous(1, t[1027], &t[1028]), 0, "MPI_Type_contiguous");
  must(MPI_Type_free(&t[1027]), 0, "MPI_Type_free");
  must(MPI_Type_commit(&t[1028]), 0, "MPI_Type_commit");
  m[1028] = a5;
  make(&b[1027], 0);
  must(MPI_Bsend_init(b[1025] + -51, 0, t[1026], 1, 1, c[33], &r[1025]), 0, "MPI_Bsend_init");
  must(MPI_Start(&r[1025]), 0, "MPI_Start");
  must(MPI_Mprobe(1, 1, c[33], &h[1025], &s[1025]), 0, "MPI_Mprobe");
  expect_count(0, &s[1025], 1, 1, 0);
  must(MPI_Mrecv(b[1027] + 3, 0, t[1028], &h[1025], &s[1025]), 0, "MPI_Mrecv");
  must(MPI_Type_free(&t[1026]), 0, "MPI_Type_free");
  must(MPI_Type_free(&t[1028]), 0, "MPI_Type_free");
  must(MPI_Comm_dup(c[33], &c[1041]), 1, "MPI_Comm_dup");
  must(MPI_Comm_free(&c[1041]), 1, "MPI_Comm_free");
  must(MPI_Comm_split(c[33], 1, 1, &c[1074]), 3, "MPI_Comm_split");
  expect_size(3, c[1074], 1, 0);
  must(MPI_Comm_free(&c[1074]), 3, "MPI_Comm_free");
  expect_count(0, &s[1025], 1, 1, 0);
  expect(0, b[1027] + 3, m[1028], 2, 4, 0, 787456u, 1, 0);
  expect_no_more(0, &b[1027], 0);
  complete(0, 3, &r[1025], &s[1026]);
  must(MPI_Request_free(&r[1025]), 0, "MPI_Request_free");
  expect(0, b[1025] + -51, m[1026], 1, 54, 0, 787456u, 1, 0);
  expect_no_more(0, &b[1025], 0);
  return none;
}

static void* thread3(void* none) {
  make(&b[2065], 13);
  fill(b[2065], 0, 1, 1, 13, 854016u, 0);
  compute(19956);
  make(&b[2067], 13);
  must(MPI_Irecv(b[2067], 13, MPI_UNSIGNED, MPI_ANY_SOURCE, 2, c[34], &r[2066]), 1, "MPI_Irecv");
  must(MPI_Irsend(b[2065], 13, MPI_UNSIGNED, 1, 2, c[34], &r[2065]), 1, "MPI_Irsend");
  complete(1, 5, &r[2066], &s[2065]);
  expect_count(1, &s[2065], 1, 2, 13);
  expect(1, b[2067], 0, 1, 1, 13, 854016u, 1, 0);
  expect_no_more(1, &b[2067], 13);
  complete(1, 2, &r[2065], &s[2066]);
  expect(1, b[2065], 0, 1, 1, 13, 854016u, 1, 0);
  expect_no_more(1, &b[2065], 13);
  return none;
}

int main(int argc, char** argv) {
  int rank;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &rank);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  attach_buffer(108156);
  /* step 2 begins: threads */
  if (rank == 0) {
  must(MPI_Comm_dup(MPI_COMM_WORLD, &c[33]), 2, "MPI_Comm_dup");
  must(MPI_Comm_dup(MPI_COMM_WORLD, &c[34]), 2, "MPI_Comm_dup");
  pthread_t threads[2];
  pthread_create(&threads[0], 0, thread0, 0);
  pthread_create(&threads[1], 0, thread1, 0);
  pthread_join(threads[0], 0);
  pthread_join(threads[1], 0);
  }
  if (rank == 1) {
  must(MPI_Comm_dup(MPI_COMM_WORLD, &c[33]), 2, "MPI_Comm_dup");
  must(MPI_Comm_dup(MPI_COMM_WORLD, &c[34]), 2, "MPI_Comm_dup");
  pthread_t threads[2];
  pthread_create(&threads[0], 0, thread2, 0);
  pthread_create(&threads[1], 0, thread3, 0);
  pthread_join(threads[0], 0);
  pthread_join(threads[1], 0);
  }
  /* step 2 ends: threads */
  if (rank == 0 || rank == 1) {
  must(MPI_Comm_free(&c[33]), 2, "MPI_Comm_free");
  must(MPI_Comm_free(&c[34]), 2, "MPI_Comm_free");
  }
  detach_buffer();
  MPI_Finalize();
  return 0;
}
