/* torture --seed 235; 2 ranks */
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

static inline void blank(unsigned* at, int words) {
  for (int i = 0; i < words; ++i) at[i] = nothing;
}

static inline void expect_blank(int step, unsigned* at, int words) {
  for (int i = 0; i < words; ++i) if (at[i] != nothing) failed(step, "outside of the message", i, at[i], nothing);
}

static inline void expect_no_more(int step, unsigned** buffer, int words) {
  expect_blank(step, *buffer, words + 1);
  free(*buffer);
  *buffer = 0;
}

static inline void same_types(MPI_Datatype** types, int count, MPI_Datatype type) {
  *types = (MPI_Datatype*)malloc((size_t)count * sizeof(MPI_Datatype));
  for (int i = 0; i < count; ++i) (*types)[i] = type;
}

static inline void drop_types(MPI_Datatype** types) {
  free(*types);
  *types = 0;
}

static inline void set_number(unsigned* at, unsigned value) {
  *at = value;
}

static inline void expect_number(int step, unsigned* at, unsigned want) {
  if (*at != want) failed(step, "number", 0, *at, want);
  *at = nothing;
}

static inline void expect_below(int step, unsigned* at, unsigned bound) {
  if (*at >= bound) failed(step, "number that has a bound", 0, *at, bound);
  *at = nothing;
}

static inline void fill_whole(unsigned* at, int words, unsigned key, unsigned version) {
  at[0] = version;
  for (int k = 1; k < words; ++k) at[k] = word(key + version, (unsigned)k);
}

static inline void expect_whole(int step, unsigned* at, int words, unsigned key) {
  unsigned version = at[0];
  at[0] = nothing;
  for (int k = 1; k < words; ++k) {
    if (at[k] != word(key + version, (unsigned)k)) failed(step, "torn contents", k, at[k], word(key + version, (unsigned)k));
    at[k] = nothing;
  }
}

static inline void await_exposure_end(int step, MPI_Win win, int tests) {
  int flag = 0;
  if (!tests) must(MPI_Win_wait(win), step, "MPI_Win_wait");
  while (tests && !flag) must(MPI_Win_test(win, &flag), step, "MPI_Win_test");
}

static unsigned* b[1024];
static int* m[1024];
static MPI_Datatype t[1024];
static MPI_Win w[1024];
static MPI_Group g[1024];
static MPI_Info i[1024];
static MPI_Datatype* y[1024];
static int a0[] = {1, 5, 10};
static int a1[] = {1, 2, 3, 4, 5, 6, 7, 8, 10, 11, 12, 13};
static int a2[] = {0, -4};
static int a3[] = {0, 1};
static int a4[] = {2};
static MPI_Aint a5[] = {4};
static int a6[] = {1, 2};
static int a7[] = {4};
static int a8[] = {2, 3, 4, 5};
static int a9[] = {0};

int main(int argc, char** argv) {
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  /* step 0 begins: window */
  if (rank == 0) {
  must(MPI_Type_create_indexed_block(3, 4, a0, MPI_UNSIGNED, &t[2]), 0, "MPI_Type_create_indexed_block");
  must(MPI_Type_commit(&t[2]), 0, "MPI_Type_commit");
  m[2] = a1;
  must(MPI_Type_contiguous(1, MPI_UNSIGNED, &t[4]), 0, "MPI_Type_contiguous");
  must(MPI_Type_vector(2, 1, -4, t[4], &t[3]), 0, "MPI_Type_vector");
  must(MPI_Type_free(&t[4]), 0, "MPI_Type_free");
  must(MPI_Type_create_resized(t[3], -20, 28, &t[4]), 0, "MPI_Type_create_resized");
  must(MPI_Type_free(&t[3]), 0, "MPI_Type_free");
  must(MPI_Type_commit(&t[4]), 0, "MPI_Type_commit");
  m[4] = a2;
  must(MPI_Info_create(&i[1]), 0, "MPI_Info_create");
  must(MPI_Info_set(i[1], "same_disp_unit", "true"), 0, "MPI_Info_set");
  must(MPI_Info_set(i[1], "accumulate_ops", "same_op_no_op"), 0, "MPI_Info_set");
  must(MPI_Info_set(i[1], "alloc_shared_noncontig", "true"), 0, "MPI_Info_set");
  must(MPI_Win_allocate(3116, 1, i[1], MPI_COMM_WORLD, &b[1], &w[1]), 0, "MPI_Win_allocate");
  must(MPI_Info_free(&i[1]), 0, "MPI_Info_free");
  must(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, w[1]), 0, "MPI_Win_lock");
  blank(b[1], 779);
  fill(b[1] + 668, 0, 1, 1, 96, 1536u, 0);
  fill_whole(b[1] + 764, 12, 1924u, 0u);
  set_number(b[1] + 776, 0u);
  set_number(b[1] + 777, 0u);
  set_number(b[1] + 778, 0u);
  must(MPI_Win_unlock(0, w[1]), 0, "MPI_Win_unlock");
  must(MPI_Barrier(MPI_COMM_WORLD), 0, "MPI_Barrier");
  make(&b[2], 312);
  make(&b[3], 312);
  must(MPI_Win_get_group(w[1], &g[1]), 0, "MPI_Win_get_group");
  must(MPI_Group_incl(g[1], 2, a3, &g[2]), 0, "MPI_Group_incl");
  must(MPI_Group_incl(g[1], 2, a3, &g[3]), 0, "MPI_Group_incl");
  must(MPI_Win_post(g[2], 0, w[1]), 0, "MPI_Win_post");
  must(MPI_Win_start(g[3], 0, w[1]), 0, "MPI_Win_start");
  must(MPI_Group_free(&g[1]), 0, "MPI_Group_free");
  must(MPI_Group_free(&g[2]), 0, "MPI_Group_free");
  must(MPI_Group_free(&g[3]), 0, "MPI_Group_free");
  fill(b[2] + -1, m[2], 12, 13, 96, 1024u, 0);
  must(MPI_Put(b[2] + -1, 8, t[2], 0, 16, 48, t[4], w[1]), 0, "MPI_Put");
  set_number(b[2] + 104, 1u);
  must(MPI_Fetch_and_op(b[2] + 104, b[3] + 104, MPI_UNSIGNED, 0, 3112, MPI_SUM, w[1]), 0, "MPI_Fetch_and_op");
  fill(b[2] + 207, m[2], 12, 13, 96, 1024u, 96);
  must(MPI_Put(b[2] + 207, 8, t[2], 1, 16, 48, t[4], w[1]), 0, "MPI_Put");
  }
  if (rank == 1) {
  must(MPI_Type_create_indexed_block(3, 4, a0, MPI_UNSIGNED, &t[2]), 0, "MPI_Type_create_indexed_block");
  must(MPI_Type_commit(&t[2]), 0, "MPI_Type_commit");
  m[2] = a1;
  must(MPI_Type_contiguous(1, MPI_UNSIGNED, &t[4]), 0, "MPI_Type_contiguous");
  must(MPI_Type_vector(2, 1, -4, t[4], &t[3]), 0, "MPI_Type_vector");
  must(MPI_Type_free(&t[4]), 0, "MPI_Type_free");
  must(MPI_Type_create_resized(t[3], -20, 28, &t[4]), 0, "MPI_Type_create_resized");
  must(MPI_Type_free(&t[3]), 0, "MPI_Type_free");
  must(MPI_Type_commit(&t[4]), 0, "MPI_Type_commit");
  m[4] = a2;
  must(MPI_Info_create(&i[1]), 0, "MPI_Info_create");
  must(MPI_Info_set(i[1], "same_disp_unit", "true"), 0, "MPI_Info_set");
  must(MPI_Info_set(i[1], "accumulate_ops", "same_op_no_op"), 0, "MPI_Info_set");
  must(MPI_Info_set(i[1], "alloc_shared_noncontig", "true"), 0, "MPI_Info_set");
  must(MPI_Win_allocate(3116, 1, i[1], MPI_COMM_WORLD, &b[1], &w[1]), 0, "MPI_Win_allocate");
  must(MPI_Info_free(&i[1]), 0, "MPI_Info_free");
  must(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, w[1]), 0, "MPI_Win_lock");
  blank(b[1], 779);
  fill(b[1] + 668, 0, 1, 1, 96, 1536u, 0);
  fill_whole(b[1] + 764, 12, 1924u, 0u);
  set_number(b[1] + 776, 0u);
  set_number(b[1] + 777, 0u);
  set_number(b[1] + 778, 0u);
  must(MPI_Win_unlock(1, w[1]), 0, "MPI_Win_unlock");
  must(MPI_Barrier(MPI_COMM_WORLD), 0, "MPI_Barrier");
  make(&b[2], 208);
  make(&b[3], 208);
  must(MPI_Win_get_group(w[1], &g[1]), 0, "MPI_Win_get_group");
  must(MPI_Group_incl(g[1], 2, a3, &g[2]), 0, "MPI_Group_incl");
  must(MPI_Group_incl(g[1], 2, a3, &g[3]), 0, "MPI_Group_incl");
  must(MPI_Win_post(g[2], 0, w[1]), 0, "MPI_Win_post");
  must(MPI_Win_start(g[3], 0, w[1]), 0, "MPI_Win_start");
  must(MPI_Group_free(&g[1]), 0, "MPI_Group_free");
  must(MPI_Group_free(&g[2]), 0, "MPI_Group_free");
  must(MPI_Group_free(&g[3]), 0, "MPI_Group_free");
  fill(b[2] + -1, m[2], 12, 13, 96, 1024u, 192);
  must(MPI_Accumulate(b[2] + -1, 8, t[2], 0, 1352, 48, t[4], MPI_REPLACE, w[1]), 0, "MPI_Accumulate");
  fill(b[2] + 103, m[2], 12, 13, 96, 1024u, 288);
  must(MPI_Put(b[2] + 103, 8, t[2], 1, 1352, 48, t[4], w[1]), 0, "MPI_Put");
  }
  /* step 1 begins: window */
  if (rank == 0) {
  same_types(&y[17], 1, MPI_UNSIGNED);
  must(MPI_Type_create_struct(1, a4, a5, y[17], &t[18]), 1, "MPI_Type_create_struct");
  drop_types(&y[17]);
  must(MPI_Type_commit(&t[18]), 1, "MPI_Type_commit");
  m[18] = a6;
  must(MPI_Type_indexed(1, a7, a4, MPI_UNSIGNED, &t[20]), 1, "MPI_Type_indexed");
  must(MPI_Type_commit(&t[20]), 1, "MPI_Type_commit");
  m[20] = a8;
  must(MPI_Win_allocate(180188, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &b[17], &w[17]), 1, "MPI_Win_allocate");
  must(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, w[17]), 1, "MPI_Win_lock");
  blank(b[17], 45047);
  fill(b[17] + 16420, 0, 1, 1, 8208, 2560u, 0);
  fill_whole(b[17] + 24628, 20416, 2948u, 0u);
  set_number(b[17] + 45044, 0u);
  set_number(b[17] + 45045, 0u);
  set_number(b[17] + 45046, 0u);
  must(MPI_Win_unlock(0, w[17]), 1, "MPI_Win_unlock");
  must(MPI_Barrier(MPI_COMM_WORLD), 1, "MPI_Barrier");
  make(&b[18], 20416);
  make(&b[19], 20416);
  must(MPI_Win_get_group(w[17], &g[17]), 1, "MPI_Win_get_group");
  must(MPI_Group_incl(g[17], 2, a3, &g[18]), 1, "MPI_Group_incl");
  must(MPI_Group_incl(g[17], 1, a9, &g[19]), 1, "MPI_Group_incl");
  must(MPI_Win_post(g[18], 0, w[17]), 1, "MPI_Win_post");
  must(MPI_Win_start(g[19], 0, w[17]), 1, "MPI_Win_start");
  must(MPI_Group_free(&g[17]), 1, "MPI_Group_free");
  must(MPI_Group_free(&g[18]), 1, "MPI_Group_free");
  must(MPI_Group_free(&g[19]), 1, "MPI_Group_free");
  fill(b[18] + -1, m[18], 2, 2, 8208, 2048u, 0);
  must(MPI_Accumulate(b[18] + -1, 4104, t[18], 0, 0, 2052, t[20], MPI_REPLACE, w[17]), 1, "MPI_Accumulate");
  }
  if (rank == 1) {
  same_types(&y[17], 1, MPI_UNSIGNED);
  must(MPI_Type_create_struct(1, a4, a5, y[17], &t[18]), 1, "MPI_Type_create_struct");
  drop_types(&y[17]);
  must(MPI_Type_commit(&t[18]), 1, "MPI_Type_commit");
  m[18] = a6;
  must(MPI_Type_indexed(1, a7, a4, MPI_UNSIGNED, &t[20]), 1, "MPI_Type_indexed");
  must(MPI_Type_commit(&t[20]), 1, "MPI_Type_commit");
  m[20] = a8;
  must(MPI_Win_allocate(180188, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &b[17], &w[17]), 1, "MPI_Win_allocate");
  must(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, w[17]), 1, "MPI_Win_lock");
  blank(b[17], 45047);
  fill(b[17] + 16420, 0, 1, 1, 8208, 2560u, 0);
  fill_whole(b[17] + 24628, 20416, 2948u, 0u);
  set_number(b[17] + 45044, 0u);
  set_number(b[17] + 45045, 0u);
  set_number(b[17] + 45046, 0u);
  must(MPI_Win_unlock(1, w[17]), 1, "MPI_Win_unlock");
  must(MPI_Barrier(MPI_COMM_WORLD), 1, "MPI_Barrier");
  make(&b[18], 40832);
  make(&b[19], 40832);
  must(MPI_Win_get_group(w[17], &g[17]), 1, "MPI_Win_get_group");
  must(MPI_Group_incl(g[17], 0, a9, &g[18]), 1, "MPI_Group_incl");
  must(MPI_Group_incl(g[17], 1, a9, &g[19]), 1, "MPI_Group_incl");
  must(MPI_Win_post(g[18], 0, w[17]), 1, "MPI_Win_post");
  must(MPI_Win_start(g[19], 0, w[17]), 1, "MPI_Win_start");
  must(MPI_Group_free(&g[17]), 1, "MPI_Group_free");
  must(MPI_Group_free(&g[18]), 1, "MPI_Group_free");
  must(MPI_Group_free(&g[19]), 1, "MPI_Group_free");
  fill(b[18] + -1, m[18], 2, 2, 8208, 2048u, 16416);
  must(MPI_Accumulate(b[18] + -1, 4104, t[18], 0, 32840, 2052, t[20], MPI_REPLACE, w[17]), 1, "MPI_Accumulate");
  must(MPI_Get(b[19] + 20416, 8208, MPI_UNSIGNED, 0, 65680, 8208, MPI_UNSIGNED, w[17]), 1, "MPI_Get");
  }
  /* step 1 ends: window */
  if (rank == 0) {
  must(MPI_Win_complete(w[17]), 1, "MPI_Win_complete");
  await_exposure_end(1, w[17], 1);
  expect(1, b[18] + -1, m[18], 2, 2, 8208, 2048u, 1, 0);
  must(MPI_Barrier(MPI_COMM_WORLD), 1, "MPI_Barrier");
  expect_no_more(1, &b[18], 20416);
  expect_no_more(1, &b[19], 20416);
  must(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, w[17]), 1, "MPI_Win_lock");
  expect(1, b[17], m[20], 4, 4, 8208, 2048u, 1, 0);
  expect(1, b[17] + 8210, m[20], 4, 4, 8208, 2048u, 1, 16416);
  expect(1, b[17] + 16420, 0, 1, 1, 8208, 2560u, 1, 0);
  expect_whole(1, b[17] + 24628, 20416, 2948u);
  expect_number(1, b[17] + 45044, 0u);
  expect_number(1, b[17] + 45045, 0u);
  expect_number(1, b[17] + 45046, 0u);
  expect_blank(1, b[17], 45047);
  must(MPI_Win_unlock(0, w[17]), 1, "MPI_Win_unlock");
  must(MPI_Win_free(&w[17]), 1, "MPI_Win_free");
  must(MPI_Type_free(&t[18]), 1, "MPI_Type_free");
  must(MPI_Type_free(&t[20]), 1, "MPI_Type_free");
  }
  if (rank == 1) {
  must(MPI_Win_complete(w[17]), 1, "MPI_Win_complete");
  await_exposure_end(1, w[17], 1);
  expect(1, b[18] + -1, m[18], 2, 2, 8208, 2048u, 1, 16416);
  expect(1, b[19] + 20416, 0, 1, 1, 8208, 2560u, 1, 0);
  must(MPI_Barrier(MPI_COMM_WORLD), 1, "MPI_Barrier");
  expect_no_more(1, &b[18], 40832);
  expect_no_more(1, &b[19], 40832);
  must(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, w[17]), 1, "MPI_Win_lock");
  expect(1, b[17] + 16420, 0, 1, 1, 8208, 2560u, 1, 0);
  expect_whole(1, b[17] + 24628, 20416, 2948u);
  expect_number(1, b[17] + 45044, 0u);
  expect_number(1, b[17] + 45045, 0u);
  expect_number(1, b[17] + 45046, 0u);
  expect_blank(1, b[17], 45047);
  must(MPI_Win_unlock(1, w[17]), 1, "MPI_Win_unlock");
  must(MPI_Win_free(&w[17]), 1, "MPI_Win_free");
  must(MPI_Type_free(&t[18]), 1, "MPI_Type_free");
  must(MPI_Type_free(&t[20]), 1, "MPI_Type_free");
  }
  /* step 0 ends: window */
  if (rank == 0) {
  must(MPI_Win_complete(w[1]), 0, "MPI_Win_complete");
  await_exposure_end(0, w[1], 0);
  expect(0, b[2] + -1, m[2], 12, 13, 96, 1024u, 1, 0);
  expect_number(0, b[2] + 104, 1u);
  expect_below(0, b[3] + 104, 1u);
  expect(0, b[2] + 207, m[2], 12, 13, 96, 1024u, 1, 96);
  must(MPI_Barrier(MPI_COMM_WORLD), 0, "MPI_Barrier");
  expect_no_more(0, &b[2], 312);
  expect_no_more(0, &b[3], 312);
  must(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, w[1]), 0, "MPI_Win_lock");
  expect(0, b[1] + 4, m[4], 2, 7, 96, 1024u, 1, 0);
  expect(0, b[1] + 338, m[4], 2, 7, 96, 1024u, 1, 192);
  expect(0, b[1] + 668, 0, 1, 1, 96, 1536u, 1, 0);
  expect_whole(0, b[1] + 764, 12, 1924u);
  expect_number(0, b[1] + 776, 0u);
  expect_number(0, b[1] + 777, 0u);
  expect_number(0, b[1] + 778, 1u);
  expect_blank(0, b[1], 779);
  must(MPI_Win_unlock(0, w[1]), 0, "MPI_Win_unlock");
  must(MPI_Win_free(&w[1]), 0, "MPI_Win_free");
  must(MPI_Type_free(&t[2]), 0, "MPI_Type_free");
  must(MPI_Type_free(&t[4]), 0, "MPI_Type_free");
  }
  if (rank == 1) {
  must(MPI_Win_complete(w[1]), 0, "MPI_Win_complete");
  await_exposure_end(0, w[1], 0);
  expect(0, b[2] + -1, m[2], 12, 13, 96, 1024u, 1, 192);
  expect(0, b[2] + 103, m[2], 12, 13, 96, 1024u, 1, 288);
  must(MPI_Barrier(MPI_COMM_WORLD), 0, "MPI_Barrier");
  expect_no_more(0, &b[2], 208);
  expect_no_more(0, &b[3], 208);
  must(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, w[1]), 0, "MPI_Win_lock");
  expect(0, b[1] + 4, m[4], 2, 7, 96, 1024u, 1, 96);
  expect(0, b[1] + 338, m[4], 2, 7, 96, 1024u, 1, 288);
  expect(0, b[1] + 668, 0, 1, 1, 96, 1536u, 1, 0);
  expect_whole(0, b[1] + 764, 12, 1924u);
  expect_number(0, b[1] + 776, 0u);
  expect_number(0, b[1] + 777, 0u);
  expect_number(0, b[1] + 778, 0u);
  expect_blank(0, b[1], 779);
  must(MPI_Win_unlock(1, w[1]), 0, "MPI_Win_unlock");
  must(MPI_Win_free(&w[1]), 0, "MPI_Win_free");
  must(MPI_Type_free(&t[2]), 0, "MPI_Type_free");
  must(MPI_Type_free(&t[4]), 0, "MPI_Type_free");
  }
  MPI_Finalize();
  return 0;
}
