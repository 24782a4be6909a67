/* torture --seed 203; 4 ranks */
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

static inline void expect_size(int step, MPI_Comm comm, int size, int rank) {
  int is = -1;
  MPI_Comm_size(comm, &is);
  if (is != size) failed(step, "size of communicator", 0, (unsigned)is, (unsigned)size);
  MPI_Comm_rank(comm, &is);
  if (is != rank) failed(step, "rank in communicator", 0, (unsigned)is, (unsigned)rank);
}

static inline void expect_inter(int step, MPI_Comm comm, int size, int remote, int rank) {
  int is = -1;
  MPI_Comm_test_inter(comm, &is);
  if (!is) failed(step, "kind of communicator", 0, 0, 1);
  MPI_Comm_remote_size(comm, &is);
  if (is != remote) failed(step, "size of the remote group", 0, (unsigned)is, (unsigned)remote);
  expect_size(step, comm, size, rank);
}

static unsigned* b[1024];
static MPI_Comm c[1024];
static MPI_Request r[1024];
static MPI_Status s[1024];

int main(int argc, char** argv) {
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  /* step 0 begins: communicator */
  if (rank == 0) {
  must(MPI_Comm_dup(MPI_COMM_WORLD, &c[1]), 0, "MPI_Comm_dup");
  expect_size(0, c[1], 4, 0);
  }
  if (rank == 1) {
  must(MPI_Comm_dup(MPI_COMM_WORLD, &c[1]), 0, "MPI_Comm_dup");
  expect_size(0, c[1], 4, 1);
  }
  if (rank == 2) {
  must(MPI_Comm_dup(MPI_COMM_WORLD, &c[1]), 0, "MPI_Comm_dup");
  expect_size(0, c[1], 4, 2);
  }
  if (rank == 3) {
  must(MPI_Comm_dup(MPI_COMM_WORLD, &c[1]), 0, "MPI_Comm_dup");
  expect_size(0, c[1], 4, 3);
  }
  /* step 1 begins: inter-communicator */
  if (rank == 0) {
  must(MPI_Comm_split(c[1], 0, 0, &c[17]), 1, "MPI_Comm_split");
  must(MPI_Intercomm_create(c[17], 0, c[1], 1, 2, &c[18]), 1, "MPI_Intercomm_create");
  must(MPI_Comm_free(&c[17]), 1, "MPI_Comm_free");
  expect_inter(1, c[18], 2, 2, 0);
  must(MPI_Intercomm_merge(c[18], 0, &c[19]), 1, "MPI_Intercomm_merge");
  expect_size(1, c[19], 4, 0);
  must(MPI_Comm_dup(c[18], &c[20]), 1, "MPI_Comm_dup");
  make(&b[17], 16384);
  make(&b[18], 16384);
  fill(b[17], 0, 1, 1, 16384, 2048u, 1000003);
  must(MPI_Sendrecv(b[17], 16384, MPI_UNSIGNED, 0, 2, b[18], 16384, MPI_UNSIGNED, 0, 2, c[20], &s[18]), 1, "MPI_Sendrecv");
  }
  if (rank == 1) {
  must(MPI_Comm_split(c[1], 1, 1, &c[17]), 1, "MPI_Comm_split");
  must(MPI_Intercomm_create(c[17], 0, c[1], 0, 2, &c[18]), 1, "MPI_Intercomm_create");
  must(MPI_Comm_free(&c[17]), 1, "MPI_Comm_free");
  expect_inter(1, c[18], 2, 2, 0);
  must(MPI_Intercomm_merge(c[18], 1, &c[19]), 1, "MPI_Intercomm_merge");
  expect_size(1, c[19], 4, 2);
  must(MPI_Comm_dup(c[18], &c[20]), 1, "MPI_Comm_dup");
  make(&b[17], 16384);
  make(&b[18], 16384);
  fill(b[17], 0, 1, 1, 16384, 2304u, 1000003);
  must(MPI_Sendrecv(b[17], 16384, MPI_UNSIGNED, 0, 2, b[18], 16384, MPI_UNSIGNED, 0, 2, c[20], &s[18]), 1, "MPI_Sendrecv");
  }
  if (rank == 2) {
  must(MPI_Comm_split(c[1], 0, 2, &c[17]), 1, "MPI_Comm_split");
  must(MPI_Intercomm_create(c[17], 0, c[1], 1, 2, &c[18]), 1, "MPI_Intercomm_create");
  must(MPI_Comm_free(&c[17]), 1, "MPI_Comm_free");
  expect_inter(1, c[18], 2, 2, 1);
  must(MPI_Intercomm_merge(c[18], 0, &c[19]), 1, "MPI_Intercomm_merge");
  expect_size(1, c[19], 4, 1);
  must(MPI_Comm_dup(c[18], &c[20]), 1, "MPI_Comm_dup");
  make(&b[17], 16384);
  make(&b[18], 16384);
  fill(b[17], 0, 1, 1, 16384, 2049u, 1000003);
  must(MPI_Sendrecv(b[17], 16384, MPI_UNSIGNED, 1, 2, b[18], 16384, MPI_UNSIGNED, 1, 2, c[20], &s[18]), 1, "MPI_Sendrecv");
  }
  if (rank == 3) {
  must(MPI_Comm_split(c[1], 1, 3, &c[17]), 1, "MPI_Comm_split");
  must(MPI_Intercomm_create(c[17], 0, c[1], 0, 2, &c[18]), 1, "MPI_Intercomm_create");
  must(MPI_Comm_free(&c[17]), 1, "MPI_Comm_free");
  expect_inter(1, c[18], 2, 2, 1);
  must(MPI_Intercomm_merge(c[18], 1, &c[19]), 1, "MPI_Intercomm_merge");
  expect_size(1, c[19], 4, 3);
  must(MPI_Comm_dup(c[18], &c[20]), 1, "MPI_Comm_dup");
  make(&b[17], 16384);
  make(&b[18], 16384);
  fill(b[17], 0, 1, 1, 16384, 2305u, 1000003);
  must(MPI_Sendrecv(b[17], 16384, MPI_UNSIGNED, 1, 2, b[18], 16384, MPI_UNSIGNED, 1, 2, c[20], &s[18]), 1, "MPI_Sendrecv");
  }
  /* step 2 begins: communicator */
  if (rank == 0) {
  must(MPI_Comm_dup(c[1], &c[33]), 2, "MPI_Comm_dup");
  expect_size(2, c[33], 4, 0);
  }
  if (rank == 1) {
  must(MPI_Comm_dup(c[1], &c[33]), 2, "MPI_Comm_dup");
  expect_size(2, c[33], 4, 1);
  }
  if (rank == 2) {
  must(MPI_Comm_dup(c[1], &c[33]), 2, "MPI_Comm_dup");
  expect_size(2, c[33], 4, 2);
  }
  if (rank == 3) {
  must(MPI_Comm_dup(c[1], &c[33]), 2, "MPI_Comm_dup");
  expect_size(2, c[33], 4, 3);
  }
  /* step 2 ends: communicator */
  if (rank == 0 || rank == 1 || rank == 2 || rank == 3) {
  must(MPI_Comm_free(&c[33]), 2, "MPI_Comm_free");
  }
  /* step 1 goes on: inter-communicator */
  if (rank == 0) {
  expect(1, b[17], 0, 1, 1, 16384, 2048u, 1, 1000003);
  expect(1, b[18], 0, 1, 1, 16384, 2304u, 1, 1000003);
  expect_no_more(1, &b[17], 16384);
  expect_no_more(1, &b[18], 16384);
  make(&b[17], 0);
  make(&b[18], 0);
  fill(b[17], 0, 1, 1, 0, 2048u, 2000006);
  must(MPI_Ibcast(b[17], 512, MPI_UNSIGNED, MPI_PROC_NULL, c[20], &r[17]), 1, "MPI_Ibcast");
  }
  if (rank == 1) {
  expect(1, b[17], 0, 1, 1, 16384, 2304u, 1, 1000003);
  expect(1, b[18], 0, 1, 1, 16384, 2048u, 1, 1000003);
  expect_no_more(1, &b[17], 16384);
  expect_no_more(1, &b[18], 16384);
  make(&b[17], 0);
  make(&b[18], 512);
  fill(b[17], 0, 1, 1, 0, 2304u, 2000006);
  must(MPI_Ibcast(b[18], 512, MPI_UNSIGNED, 1, c[20], &r[17]), 1, "MPI_Ibcast");
  }
  if (rank == 2) {
  expect(1, b[17], 0, 1, 1, 16384, 2049u, 1, 1000003);
  expect(1, b[18], 0, 1, 1, 16384, 2305u, 1, 1000003);
  expect_no_more(1, &b[17], 16384);
  expect_no_more(1, &b[18], 16384);
  make(&b[17], 512);
  make(&b[18], 0);
  fill(b[17], 0, 1, 1, 512, 2049u, 2000006);
  must(MPI_Ibcast(b[17], 512, MPI_UNSIGNED, MPI_ROOT, c[20], &r[17]), 1, "MPI_Ibcast");
  }
  if (rank == 3) {
  expect(1, b[17], 0, 1, 1, 16384, 2305u, 1, 1000003);
  expect(1, b[18], 0, 1, 1, 16384, 2049u, 1, 1000003);
  expect_no_more(1, &b[17], 16384);
  expect_no_more(1, &b[18], 16384);
  make(&b[17], 0);
  make(&b[18], 512);
  fill(b[17], 0, 1, 1, 0, 2305u, 2000006);
  must(MPI_Ibcast(b[18], 512, MPI_UNSIGNED, 1, c[20], &r[17]), 1, "MPI_Ibcast");
  }
  /* step 1 ends: inter-communicator */
  if (rank == 0) {
  complete(1, 2, &r[17], &s[17]);
  expect(1, b[17], 0, 1, 1, 0, 2048u, 1, 2000006);
  expect_no_more(1, &b[17], 0);
  expect_no_more(1, &b[18], 0);
  must(MPI_Comm_free(&c[19]), 1, "MPI_Comm_free");
  must(MPI_Comm_free(&c[18]), 1, "MPI_Comm_free");
  must(MPI_Comm_free(&c[20]), 1, "MPI_Comm_free");
  }
  if (rank == 1) {
  complete(1, 2, &r[17], &s[17]);
  expect(1, b[17], 0, 1, 1, 0, 2304u, 1, 2000006);
  expect(1, b[18], 0, 1, 1, 512, 2049u, 1, 2000006);
  expect_no_more(1, &b[17], 0);
  expect_no_more(1, &b[18], 512);
  must(MPI_Comm_free(&c[19]), 1, "MPI_Comm_free");
  must(MPI_Comm_free(&c[18]), 1, "MPI_Comm_free");
  must(MPI_Comm_free(&c[20]), 1, "MPI_Comm_free");
  }
  if (rank == 2) {
  complete(1, 2, &r[17], &s[17]);
  expect(1, b[17], 0, 1, 1, 512, 2049u, 1, 2000006);
  expect_no_more(1, &b[17], 512);
  expect_no_more(1, &b[18], 0);
  must(MPI_Comm_free(&c[19]), 1, "MPI_Comm_free");
  must(MPI_Comm_free(&c[18]), 1, "MPI_Comm_free");
  must(MPI_Comm_free(&c[20]), 1, "MPI_Comm_free");
  }
  if (rank == 3) {
  complete(1, 2, &r[17], &s[17]);
  expect(1, b[17], 0, 1, 1, 0, 2305u, 1, 2000006);
  expect(1, b[18], 0, 1, 1, 512, 2049u, 1, 2000006);
  expect_no_more(1, &b[17], 0);
  expect_no_more(1, &b[18], 512);
  must(MPI_Comm_free(&c[19]), 1, "MPI_Comm_free");
  must(MPI_Comm_free(&c[18]), 1, "MPI_Comm_free");
  must(MPI_Comm_free(&c[20]), 1, "MPI_Comm_free");
  }
  /* step 0 ends: communicator */
  if (rank == 0 || rank == 1 || rank == 2 || rank == 3) {
  must(MPI_Comm_free(&c[1]), 0, "MPI_Comm_free");
  }
  MPI_Finalize();
  return 0;
}
