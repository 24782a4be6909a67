/* torture --seed 314; 2 ranks */
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

static inline void drop(unsigned** buffer) {
  free(*buffer);
  *buffer = 0;
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

static inline void same_types(MPI_Datatype** types, int count, MPI_Datatype type) {
  *types = (MPI_Datatype*)malloc((size_t)count * sizeof(MPI_Datatype));
  for (int i = 0; i < count; ++i) (*types)[i] = type;
}

static inline void word_types(MPI_Datatype** types, int count) {
  same_types(types, count, MPI_UNSIGNED);
}

static inline void set_type(MPI_Datatype** types, int i, int kind) {
  (*types)[i] = kind == 0 ? MPI_CHAR : kind == 1 ? MPI_SHORT : kind == 2 ? MPI_INT : MPI_DOUBLE;
}

static inline void drop_types(MPI_Datatype** types) {
  free(*types);
  *types = 0;
}

static inline void fill_bytes(unsigned char* at, int bytes, unsigned key, int first) {
  for (int k = 0; k < bytes; ++k) at[k] = (unsigned char)word(key, (unsigned)(first + k));
}

static inline void expect_bytes(int step, unsigned char* at, int bytes, unsigned key, int first) {
  for (int k = 0; k < bytes; ++k) {
    unsigned char want = (unsigned char)word(key, (unsigned)(first + k));
    if (at[k] != want) failed(step, "byte", k, at[k], want);
    at[k] = 0xEE;
  }
}

static inline void pack_external(int step, unsigned* from, int count, MPI_Datatype type, unsigned* to, int words, int want, unsigned* bytes) {
  MPI_Aint at = 0;
  must(MPI_Pack_external("external32", from, count, type, to, 4 * words, &at), step, "MPI_Pack_external");
  if (at != want) failed(step, "bytes packed", 0, (unsigned)at, (unsigned)want);
  *bytes = (unsigned)at;
}

static inline void send_packed(int step, unsigned* from, unsigned* bytes, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request* request) {
  must(MPI_Isend(from, (int)*bytes, type, to, tag, comm, request), step, "MPI_Isend");
}

static inline void unpack(int step, unsigned* from, MPI_Status* status, unsigned* to, int count, MPI_Datatype type, MPI_Comm comm) {
  int at = 0;
  int bytes = 0;
  must(MPI_Get_count(status, MPI_PACKED, &bytes), step, "MPI_Get_count");
  must(MPI_Unpack(from, bytes, &at, to, count, type, comm), step, "MPI_Unpack");
  if (at != bytes) failed(step, "bytes unpacked", 0, (unsigned)at, (unsigned)bytes);
}

static inline void unpack_external(int step, unsigned* from, int bytes, unsigned* to, int count, MPI_Datatype type) {
  MPI_Aint at = 0;
  must(MPI_Unpack_external("external32", from, bytes, &at, to, count, type), step, "MPI_Unpack_external");
  if (at != bytes) failed(step, "bytes unpacked", 0, (unsigned)at, (unsigned)bytes);
}

static unsigned* b[1024];
static MPI_Datatype t[1024];
static MPI_Request r[1024];
static MPI_Status s[1024];
static MPI_Datatype* y[1024];
static int a0[] = {6, 3, 4, 122};
static MPI_Aint a1[] = {0, 13, 37, 43};
static MPI_Aint a2[] = {0, 12, 39, 45};
static int a3[] = {5};
static MPI_Aint a4[] = {2};
static MPI_Aint a5[] = {4};

int main(int argc, char** argv) {
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  /* step 0 begins: structure */
  if (rank == 0) {
  word_types(&y[1], 4);
  set_type(&y[1], 0, 1);
  set_type(&y[1], 1, 3);
  set_type(&y[1], 2, 0);
  set_type(&y[1], 3, 3);
  must(MPI_Type_create_struct(4, a0, a1, y[1], &t[4]), 0, "MPI_Type_create_struct");
  must(MPI_Type_create_resized(t[4], 0, 1023, &t[1]), 0, "MPI_Type_create_resized");
  must(MPI_Type_free(&t[4]), 0, "MPI_Type_free");
  must(MPI_Type_commit(&t[1]), 0, "MPI_Type_commit");
  drop_types(&y[1]);
  make(&b[1], 258);
  fill_bytes((unsigned char*)b[1] + 0, 12, 1024u, 0);
  fill_bytes((unsigned char*)b[1] + 13, 24, 1024u, 12);
  fill_bytes((unsigned char*)b[1] + 37, 4, 1024u, 36);
  fill_bytes((unsigned char*)b[1] + 43, 976, 1024u, 40);
  make(&b[3], 2096);
  make(&b[5], 1);
  pack_external(0, b[1], 1, t[1], b[3], 2096, 1016, b[5]);
  send_packed(0, b[3], b[5], MPI_BYTE, 1, 1, MPI_COMM_WORLD, &r[1]);
  must(MPI_Type_free(&t[1]), 0, "MPI_Type_free");
  }
  if (rank == 1) {
  word_types(&y[1], 4);
  set_type(&y[1], 0, 1);
  set_type(&y[1], 1, 3);
  set_type(&y[1], 2, 0);
  set_type(&y[1], 3, 3);
  must(MPI_Type_create_struct(4, a0, a2, y[1], &t[4]), 0, "MPI_Type_create_struct");
  must(MPI_Type_create_resized(t[4], 0, 1025, &t[2]), 0, "MPI_Type_create_resized");
  must(MPI_Type_free(&t[4]), 0, "MPI_Type_free");
  must(MPI_Type_commit(&t[2]), 0, "MPI_Type_commit");
  drop_types(&y[1]);
  make(&b[2], 259);
  }
  /* step 0 ends: structure */
  if (rank == 0) {
  complete(0, 0, &r[1], &s[2]);
  expect_bytes(0, (unsigned char*)b[1] + 0, 12, 1024u, 0);
  expect_bytes(0, (unsigned char*)b[1] + 13, 24, 1024u, 12);
  expect_bytes(0, (unsigned char*)b[1] + 37, 4, 1024u, 36);
  expect_bytes(0, (unsigned char*)b[1] + 43, 976, 1024u, 40);
  expect_no_more(0, &b[1], 258);
  drop(&b[3]);
  drop(&b[5]);
  }
  if (rank == 1) {
  make(&b[4], 2096);
  must(MPI_Recv(b[4], 8384, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &s[1]), 0, "MPI_Recv");
  unpack_external(0, b[4], 1016, b[2], 1, t[2]);
  drop(&b[4]);
  must(MPI_Type_free(&t[2]), 0, "MPI_Type_free");
  expect_bytes(0, (unsigned char*)b[2] + 0, 12, 1024u, 0);
  expect_bytes(0, (unsigned char*)b[2] + 12, 24, 1024u, 12);
  expect_bytes(0, (unsigned char*)b[2] + 39, 4, 1024u, 36);
  expect_bytes(0, (unsigned char*)b[2] + 45, 976, 1024u, 40);
  expect_no_more(0, &b[2], 259);
  }
  /* step 1 begins: structure */
  if (rank == 1) {
  word_types(&y[17], 1);
  set_type(&y[17], 0, 3);
  must(MPI_Type_create_struct(1, a3, a4, y[17], &t[20]), 1, "MPI_Type_create_struct");
  must(MPI_Type_create_resized(t[20], 0, 45, &t[18]), 1, "MPI_Type_create_resized");
  must(MPI_Type_free(&t[20]), 1, "MPI_Type_free");
  must(MPI_Type_commit(&t[18]), 1, "MPI_Type_commit");
  drop_types(&y[17]);
  make(&b[18], 14);
  word_types(&y[17], 1);
  set_type(&y[17], 0, 3);
  must(MPI_Type_create_struct(1, a3, a5, y[17], &t[20]), 1, "MPI_Type_create_struct");
  must(MPI_Type_create_resized(t[20], 0, 45, &t[17]), 1, "MPI_Type_create_resized");
  must(MPI_Type_free(&t[20]), 1, "MPI_Type_free");
  must(MPI_Type_commit(&t[17]), 1, "MPI_Type_commit");
  drop_types(&y[17]);
  make(&b[17], 14);
  fill_bytes((unsigned char*)b[17] + 4, 40, 2048u, 0);
  must(MPI_Isend(b[17], 1, t[17], 1, 2, MPI_COMM_WORLD, &r[17]), 1, "MPI_Isend");
  must(MPI_Type_free(&t[17]), 1, "MPI_Type_free");
  }
  /* step 1 ends: structure */
  if (rank == 1) {
  make(&b[20], 144);
  must(MPI_Recv(b[20], 576, MPI_PACKED, 1, 2, MPI_COMM_WORLD, &s[17]), 1, "MPI_Recv");
  unpack(1, b[20], &s[17], b[18], 1, t[18], MPI_COMM_WORLD);
  drop(&b[20]);
  must(MPI_Type_free(&t[18]), 1, "MPI_Type_free");
  expect_bytes(1, (unsigned char*)b[18] + 2, 40, 2048u, 0);
  expect_no_more(1, &b[18], 14);
  complete(1, 0, &r[17], &s[18]);
  expect_bytes(1, (unsigned char*)b[17] + 4, 40, 2048u, 0);
  expect_no_more(1, &b[17], 14);
  }
  MPI_Finalize();
  return 0;
}
