/* torture --seed 200; 3 ranks */
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

static void compose(void* in, void* inout, int* count, MPI_Datatype* type) {
  unsigned* a = (unsigned*)in;
  unsigned* b = (unsigned*)inout;
  (void)type;
  for (int i = 0; i < 2 * *count; i += 2) {
    b[i + 1] = a[i + 1] * b[i] + b[i + 1];
    b[i] = a[i] * b[i];
  }
}

static inline void fill_pairs(unsigned* at, int pairs, unsigned key, int rank, int operation) {
  for (int i = 0; i < pairs; ++i) {
    unsigned x = word(key + (unsigned)rank, (unsigned)i);
    at[2 * i] = operation ? x % 17u : x | 1u;
    at[2 * i + 1] = operation ? (unsigned)rank : x >> 7;
  }
}

static inline void expect_pairs(int step, unsigned* at, int pairs, unsigned key, int from, int members, int operation) {
  int one = 1;
  unsigned next[2];
  unsigned want[2];
  for (int i = 0; i < pairs; ++i) {
    for (int m = from; m < from + members; ++m) {
      unsigned x = word(key + (unsigned)m, (unsigned)i);
      next[0] = operation ? x % 17u : x | 1u;
      next[1] = operation ? (unsigned)m : x >> 7;
      if (operation == 0 && m > from) compose(want, next, &one, 0);
      if (operation == 1 && m > from && want[0] <= next[0]) continue;
      if (operation == 2 && m > from && want[0] >= next[0]) continue;
      want[0] = next[0];
      want[1] = next[1];
    }
    for (int k = 0; k < 2; ++k) {
      if (at[2 * i + k] != want[k]) failed(step, "pair", 2 * i + k, at[2 * i + k], want[k]);
      at[2 * i + k] = nothing;
    }
  }
}

static unsigned* b[1024];
static MPI_Comm c[1024];
static MPI_Request r[1024];
static MPI_Status s[1024];
static int a0[] = {1};
static int a1[] = {2};
static int a2[] = {0};

int main(int argc, char** argv) {
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  /* step 0 begins: reduction of pairs */
  if (rank == 0) {
  make(&b[1], 66);
  make(&b[2], 66);
  fill_pairs(b[1], 33, 1024u, 0, 2);
  must(MPI_Ireduce(b[1], b[2], 33, MPI_2INT, MPI_MAXLOC, 1, MPI_COMM_WORLD, &r[1]), 0, "MPI_Ireduce");
  }
  if (rank == 1) {
  make(&b[1], 66);
  make(&b[2], 66);
  fill_pairs(b[1], 33, 1024u, 1, 2);
  must(MPI_Ireduce(b[1], b[2], 33, MPI_2INT, MPI_MAXLOC, 1, MPI_COMM_WORLD, &r[1]), 0, "MPI_Ireduce");
  }
  if (rank == 2) {
  make(&b[1], 66);
  make(&b[2], 66);
  fill_pairs(b[1], 33, 1024u, 2, 2);
  must(MPI_Ireduce(b[1], b[2], 33, MPI_2INT, MPI_MAXLOC, 1, MPI_COMM_WORLD, &r[1]), 0, "MPI_Ireduce");
  }
  /* step 1 begins: reduce_scatter_block */
  if (rank == 0) {
  make(&b[17], 3);
  make(&b[18], 1);
  fill(b[17], 0, 1, 1, 3, 2048u, 0);
  must(MPI_Reduce_scatter_block(b[17], b[18], 1, MPI_UNSIGNED, MPI_SUM, MPI_COMM_WORLD), 1, "MPI_Reduce_scatter_block");
  }
  if (rank == 1) {
  make(&b[17], 3);
  make(&b[18], 1);
  fill(b[17], 0, 1, 1, 3, 2049u, 0);
  must(MPI_Reduce_scatter_block(b[17], b[18], 1, MPI_UNSIGNED, MPI_SUM, MPI_COMM_WORLD), 1, "MPI_Reduce_scatter_block");
  }
  if (rank == 2) {
  make(&b[17], 3);
  make(&b[18], 1);
  fill(b[17], 0, 1, 1, 3, 2050u, 0);
  must(MPI_Reduce_scatter_block(b[17], b[18], 1, MPI_UNSIGNED, MPI_SUM, MPI_COMM_WORLD), 1, "MPI_Reduce_scatter_block");
  }
  /* step 2 begins: reduce_scatter_block */
  if (rank == 0) {
  make(&b[33], 30);
  make(&b[34], 10);
  fill(b[33], 0, 1, 1, 30, 3072u, 0);
  must(MPI_Ireduce_scatter_block(b[33], b[34], 10, MPI_UNSIGNED, MPI_SUM, MPI_COMM_WORLD, &r[33]), 2, "MPI_Ireduce_scatter_block");
  }
  if (rank == 1) {
  make(&b[33], 30);
  make(&b[34], 10);
  fill(b[33], 0, 1, 1, 30, 3073u, 0);
  must(MPI_Ireduce_scatter_block(b[33], b[34], 10, MPI_UNSIGNED, MPI_SUM, MPI_COMM_WORLD, &r[33]), 2, "MPI_Ireduce_scatter_block");
  }
  if (rank == 2) {
  make(&b[33], 30);
  make(&b[34], 10);
  fill(b[33], 0, 1, 1, 30, 3074u, 0);
  must(MPI_Ireduce_scatter_block(b[33], b[34], 10, MPI_UNSIGNED, MPI_SUM, MPI_COMM_WORLD, &r[33]), 2, "MPI_Ireduce_scatter_block");
  }
  /* step 3 begins: neighbor_alltoall */
  if (rank == 0) {
  must(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, a0, MPI_UNWEIGHTED, 1, a1, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &c[49]), 3, "MPI_Dist_graph_create_adjacent");
  make(&b[49], 120);
  make(&b[50], 120);
  fill(b[49], 0, 1, 1, 120, 4096u, 200006);
  must(MPI_Neighbor_alltoall(b[49], 120, MPI_UNSIGNED, b[50], 120, MPI_UNSIGNED, c[49]), 3, "MPI_Neighbor_alltoall");
  }
  if (rank == 1) {
  must(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, a1, MPI_UNWEIGHTED, 1, a2, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &c[49]), 3, "MPI_Dist_graph_create_adjacent");
  make(&b[49], 120);
  make(&b[50], 120);
  fill(b[49], 0, 1, 1, 120, 4097u, 0);
  must(MPI_Neighbor_alltoall(b[49], 120, MPI_UNSIGNED, b[50], 120, MPI_UNSIGNED, c[49]), 3, "MPI_Neighbor_alltoall");
  }
  if (rank == 2) {
  must(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, a2, MPI_UNWEIGHTED, 1, a0, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &c[49]), 3, "MPI_Dist_graph_create_adjacent");
  make(&b[49], 120);
  make(&b[50], 120);
  fill(b[49], 0, 1, 1, 120, 4098u, 100003);
  must(MPI_Neighbor_alltoall(b[49], 120, MPI_UNSIGNED, b[50], 120, MPI_UNSIGNED, c[49]), 3, "MPI_Neighbor_alltoall");
  }
  /* step 3 ends: neighbor_alltoall */
  if (rank == 0) {
  expect(3, b[49], 0, 1, 1, 120, 4096u, 1, 200006);
  expect(3, b[50], 0, 1, 1, 120, 4097u, 1, 0);
  expect_no_more(3, &b[49], 120);
  expect_no_more(3, &b[50], 120);
  must(MPI_Comm_free(&c[49]), 3, "MPI_Comm_free");
  }
  if (rank == 1) {
  expect(3, b[49], 0, 1, 1, 120, 4097u, 1, 0);
  expect(3, b[50], 0, 1, 1, 120, 4098u, 1, 100003);
  expect_no_more(3, &b[49], 120);
  expect_no_more(3, &b[50], 120);
  must(MPI_Comm_free(&c[49]), 3, "MPI_Comm_free");
  }
  if (rank == 2) {
  expect(3, b[49], 0, 1, 1, 120, 4098u, 1, 100003);
  expect(3, b[50], 0, 1, 1, 120, 4096u, 1, 200006);
  expect_no_more(3, &b[49], 120);
  expect_no_more(3, &b[50], 120);
  must(MPI_Comm_free(&c[49]), 3, "MPI_Comm_free");
  }
  /* step 2 ends: reduce_scatter_block */
  if (rank == 0) {
  complete(2, 5, &r[33], &s[33]);
  expect(2, b[33], 0, 1, 1, 30, 3072u, 1, 0);
  expect(2, b[34], 0, 1, 1, 10, 3072u, 3, 0);
  expect_no_more(2, &b[33], 30);
  expect_no_more(2, &b[34], 10);
  }
  if (rank == 1) {
  complete(2, 5, &r[33], &s[33]);
  expect(2, b[33], 0, 1, 1, 30, 3073u, 1, 0);
  expect(2, b[34], 0, 1, 1, 10, 3072u, 3, 10);
  expect_no_more(2, &b[33], 30);
  expect_no_more(2, &b[34], 10);
  }
  if (rank == 2) {
  complete(2, 5, &r[33], &s[33]);
  expect(2, b[33], 0, 1, 1, 30, 3074u, 1, 0);
  expect(2, b[34], 0, 1, 1, 10, 3072u, 3, 20);
  expect_no_more(2, &b[33], 30);
  expect_no_more(2, &b[34], 10);
  }
  /* step 1 ends: reduce_scatter_block */
  if (rank == 0) {
  expect(1, b[17], 0, 1, 1, 3, 2048u, 1, 0);
  expect(1, b[18], 0, 1, 1, 1, 2048u, 3, 0);
  expect_no_more(1, &b[17], 3);
  expect_no_more(1, &b[18], 1);
  }
  if (rank == 1) {
  expect(1, b[17], 0, 1, 1, 3, 2049u, 1, 0);
  expect(1, b[18], 0, 1, 1, 1, 2048u, 3, 1);
  expect_no_more(1, &b[17], 3);
  expect_no_more(1, &b[18], 1);
  }
  if (rank == 2) {
  expect(1, b[17], 0, 1, 1, 3, 2050u, 1, 0);
  expect(1, b[18], 0, 1, 1, 1, 2048u, 3, 2);
  expect_no_more(1, &b[17], 3);
  expect_no_more(1, &b[18], 1);
  }
  /* step 0 ends: reduction of pairs */
  if (rank == 0) {
  complete(0, 4, &r[1], &s[1]);
  expect_pairs(0, b[1], 33, 1024u, 0, 1, 2);
  expect_no_more(0, &b[1], 66);
  expect_no_more(0, &b[2], 66);
  }
  if (rank == 1) {
  complete(0, 4, &r[1], &s[1]);
  expect_pairs(0, b[1], 33, 1024u, 1, 1, 2);
  expect_pairs(0, b[2], 33, 1024u, 0, 3, 2);
  expect_no_more(0, &b[1], 66);
  expect_no_more(0, &b[2], 66);
  }
  if (rank == 2) {
  complete(0, 4, &r[1], &s[1]);
  expect_pairs(0, b[1], 33, 1024u, 2, 1, 2);
  expect_no_more(0, &b[1], 66);
  expect_no_more(0, &b[2], 66);
  }
  MPI_Finalize();
  return 0;
}
