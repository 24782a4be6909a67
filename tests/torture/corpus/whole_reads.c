/* torture --seed 147; 3 ranks */
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

static unsigned* b[1024];
static MPI_Request r[1024];
static MPI_Status s[1024];
static MPI_Win w[1024];
static MPI_Info i[1024];

int main(int argc, char** argv) {
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  /* step 7 begins: window */
  if (rank == 0) {
  must(MPI_Info_create(&i[113]), 7, "MPI_Info_create");
  must(MPI_Info_set(i[113], "same_disp_unit", "true"), 7, "MPI_Info_set");
  must(MPI_Info_set(i[113], "accumulate_ops", "same_op_no_op"), 7, "MPI_Info_set");
  must(MPI_Info_set(i[113], "alloc_shared_noncontig", "true"), 7, "MPI_Info_set");
  must(MPI_Win_allocate(65704, 4, i[113], MPI_COMM_WORLD, &b[113], &w[113]), 7, "MPI_Win_allocate");
  must(MPI_Info_free(&i[113]), 7, "MPI_Info_free");
  must(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, w[113]), 7, "MPI_Win_lock");
  blank(b[113], 16426);
  fill(b[113] + 27, 0, 1, 1, 9, 8704u, 0);
  fill_whole(b[113] + 36, 16386, 9092u, 0u);
  set_number(b[113] + 16422, 0u);
  set_number(b[113] + 16423, 0u);
  set_number(b[113] + 16424, 0u);
  set_number(b[113] + 16425, 0u);
  must(MPI_Win_unlock(0, w[113]), 7, "MPI_Win_unlock");
  must(MPI_Barrier(MPI_COMM_WORLD), 7, "MPI_Barrier");
  make(&b[114], 16386);
  make(&b[115], 16386);
  must(MPI_Win_fence(0, w[113]), 7, "MPI_Win_fence");
  fill(b[114], 0, 1, 1, 9, 8192u, 9);
  must(MPI_Put(b[114], 9, MPI_UNSIGNED, 1, 0, 9, MPI_UNSIGNED, w[113]), 7, "MPI_Put");
  }
  if (rank == 1) {
  must(MPI_Info_create(&i[113]), 7, "MPI_Info_create");
  must(MPI_Info_set(i[113], "same_disp_unit", "true"), 7, "MPI_Info_set");
  must(MPI_Info_set(i[113], "accumulate_ops", "same_op_no_op"), 7, "MPI_Info_set");
  must(MPI_Info_set(i[113], "alloc_shared_noncontig", "true"), 7, "MPI_Info_set");
  must(MPI_Win_allocate(65704, 4, i[113], MPI_COMM_WORLD, &b[113], &w[113]), 7, "MPI_Win_allocate");
  must(MPI_Info_free(&i[113]), 7, "MPI_Info_free");
  must(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, w[113]), 7, "MPI_Win_lock");
  blank(b[113], 16426);
  fill(b[113] + 27, 0, 1, 1, 9, 8704u, 0);
  fill_whole(b[113] + 36, 16386, 9092u, 0u);
  set_number(b[113] + 16422, 0u);
  set_number(b[113] + 16423, 0u);
  set_number(b[113] + 16424, 0u);
  set_number(b[113] + 16425, 0u);
  must(MPI_Win_unlock(1, w[113]), 7, "MPI_Win_unlock");
  must(MPI_Barrier(MPI_COMM_WORLD), 7, "MPI_Barrier");
  make(&b[114], 65544);
  make(&b[115], 65544);
  must(MPI_Win_fence(0, w[113]), 7, "MPI_Win_fence");
  fill(b[114], 0, 1, 1, 9, 8192u, 36);
  must(MPI_Put(b[114], 9, MPI_UNSIGNED, 1, 9, 9, MPI_UNSIGNED, w[113]), 7, "MPI_Put");
  set_number(b[114] + 16386, 1u);
  must(MPI_Fetch_and_op(b[114] + 16386, b[115] + 16386, MPI_UNSIGNED, 1, 16425, MPI_SUM, w[113]), 7, "MPI_Fetch_and_op");
  fill(b[114] + 32772, 0, 1, 1, 9, 8192u, 27);
  must(MPI_Put(b[114] + 32772, 9, MPI_UNSIGNED, 0, 9, 9, MPI_UNSIGNED, w[113]), 7, "MPI_Put");
  set_number(b[114] + 49158, 1u);
  must(MPI_Fetch_and_op(b[114] + 49158, b[115] + 49158, MPI_UNSIGNED, 0, 16425, MPI_SUM, w[113]), 7, "MPI_Fetch_and_op");
  }
  if (rank == 2) {
  must(MPI_Info_create(&i[113]), 7, "MPI_Info_create");
  must(MPI_Info_set(i[113], "same_disp_unit", "true"), 7, "MPI_Info_set");
  must(MPI_Info_set(i[113], "accumulate_ops", "same_op_no_op"), 7, "MPI_Info_set");
  must(MPI_Info_set(i[113], "alloc_shared_noncontig", "true"), 7, "MPI_Info_set");
  must(MPI_Win_allocate(65704, 4, i[113], MPI_COMM_WORLD, &b[113], &w[113]), 7, "MPI_Win_allocate");
  must(MPI_Info_free(&i[113]), 7, "MPI_Info_free");
  must(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 2, 0, w[113]), 7, "MPI_Win_lock");
  blank(b[113], 16426);
  fill(b[113] + 27, 0, 1, 1, 9, 8704u, 0);
  fill_whole(b[113] + 36, 16386, 9092u, 0u);
  set_number(b[113] + 16422, 0u);
  set_number(b[113] + 16423, 0u);
  set_number(b[113] + 16424, 0u);
  set_number(b[113] + 16425, 0u);
  must(MPI_Win_unlock(2, w[113]), 7, "MPI_Win_unlock");
  must(MPI_Barrier(MPI_COMM_WORLD), 7, "MPI_Barrier");
  make(&b[114], 49158);
  make(&b[115], 49158);
  must(MPI_Win_fence(0, w[113]), 7, "MPI_Win_fence");
  fill(b[114], 0, 1, 1, 9, 8192u, 54);
  must(MPI_Put(b[114], 9, MPI_UNSIGNED, 0, 18, 9, MPI_UNSIGNED, w[113]), 7, "MPI_Put");
  fill(b[114] + 16386, 0, 1, 1, 9, 8705u, 0);
  must(MPI_Accumulate(b[114] + 16386, 9, MPI_UNSIGNED, 0, 27, 9, MPI_UNSIGNED, MPI_SUM, w[113]), 7, "MPI_Accumulate");
  fill(b[114] + 32772, 0, 1, 1, 9, 8192u, 63);
  must(MPI_Accumulate(b[114] + 32772, 9, MPI_UNSIGNED, 1, 18, 9, MPI_UNSIGNED, MPI_REPLACE, w[113]), 7, "MPI_Accumulate");
  }
  /* step 7 goes on: window */
  if (rank == 0) {
  must(MPI_Win_fence(0, w[113]), 7, "MPI_Win_fence");
  expect(7, b[114], 0, 1, 1, 9, 8192u, 1, 9);
  must(MPI_Barrier(MPI_COMM_WORLD), 7, "MPI_Barrier");
  expect_no_more(7, &b[114], 16386);
  expect_no_more(7, &b[115], 16386);
  make(&b[114], 81930);
  make(&b[115], 81930);
  must(MPI_Win_lock_all(0, w[113]), 7, "MPI_Win_lock_all");
  fill(b[114], 0, 1, 1, 9, 8192u, 0);
  must(MPI_Accumulate(b[114], 9, MPI_UNSIGNED, 0, 0, 9, MPI_UNSIGNED, MPI_REPLACE, w[113]), 7, "MPI_Accumulate");
  must(MPI_Win_flush_all(w[113]), 7, "MPI_Win_flush_all");
  must(MPI_Get(b[115] + 16386, 9, MPI_UNSIGNED, 0, 0, 9, MPI_UNSIGNED, w[113]), 7, "MPI_Get");
  set_number(b[114] + 32772, 1u);
  must(MPI_Fetch_and_op(b[114] + 32772, b[115] + 32772, MPI_UNSIGNED, 0, 16425, MPI_SUM, w[113]), 7, "MPI_Fetch_and_op");
  fill(b[114] + 49158, 0, 1, 1, 9, 8193u, 9);
  must(MPI_Get_accumulate(b[114] + 49158, 9, MPI_UNSIGNED, b[115] + 49158, 9, MPI_UNSIGNED, 1, 0, 9, MPI_UNSIGNED, MPI_SUM, w[113]), 7, "MPI_Get_accumulate");
  must(MPI_Win_flush(1, w[113]), 7, "MPI_Win_flush");
  fill(b[114] + 65544, 0, 1, 1, 9, 8194u, 9);
  must(MPI_Accumulate(b[114] + 65544, 9, MPI_UNSIGNED, 1, 0, 9, MPI_UNSIGNED, MPI_REPLACE, w[113]), 7, "MPI_Accumulate");
  }
  if (rank == 1) {
  must(MPI_Win_fence(0, w[113]), 7, "MPI_Win_fence");
  expect(7, b[114], 0, 1, 1, 9, 8192u, 1, 36);
  expect_number(7, b[114] + 16386, 1u);
  expect_below(7, b[115] + 16386, 1u);
  expect(7, b[114] + 32772, 0, 1, 1, 9, 8192u, 1, 27);
  expect_number(7, b[114] + 49158, 1u);
  expect_below(7, b[115] + 49158, 2u);
  must(MPI_Barrier(MPI_COMM_WORLD), 7, "MPI_Barrier");
  expect_no_more(7, &b[114], 65544);
  expect_no_more(7, &b[115], 65544);
  make(&b[114], 16386);
  make(&b[115], 16386);
  must(MPI_Win_lock_all(0, w[113]), 7, "MPI_Win_lock_all");
  must(MPI_Get_accumulate(b[114], 9, MPI_UNSIGNED, b[115], 9, MPI_UNSIGNED, 0, 9, 9, MPI_UNSIGNED, MPI_NO_OP, w[113]), 7, "MPI_Get_accumulate");
  }
  if (rank == 2) {
  must(MPI_Win_fence(0, w[113]), 7, "MPI_Win_fence");
  expect(7, b[114], 0, 1, 1, 9, 8192u, 1, 54);
  expect(7, b[114] + 16386, 0, 1, 1, 9, 8705u, 1, 0);
  expect(7, b[114] + 32772, 0, 1, 1, 9, 8192u, 1, 63);
  must(MPI_Barrier(MPI_COMM_WORLD), 7, "MPI_Barrier");
  expect_no_more(7, &b[114], 49158);
  expect_no_more(7, &b[115], 49158);
  make(&b[114], 32772);
  make(&b[115], 32772);
  must(MPI_Win_lock_all(0, w[113]), 7, "MPI_Win_lock_all");
  must(MPI_Get(b[115], 9, MPI_UNSIGNED, 0, 18, 9, MPI_UNSIGNED, w[113]), 7, "MPI_Get");
  must(MPI_Win_flush(0, w[113]), 7, "MPI_Win_flush");
  fill(b[114] + 16386, 0, 1, 1, 9, 8193u, 54);
  must(MPI_Rput(b[114] + 16386, 9, MPI_UNSIGNED, 0, 18, 9, MPI_UNSIGNED, w[113], &r[113]), 7, "MPI_Rput");
  complete(7, 0, &r[113], &s[113]);
  must(MPI_Win_flush_local(0, w[113]), 7, "MPI_Win_flush_local");
  blank(b[114] + 16386, 16386);
  }
  /* step 7 goes on: window */
  if (rank == 0) {
  must(MPI_Win_unlock_all(w[113]), 7, "MPI_Win_unlock_all");
  expect(7, b[114], 0, 1, 1, 9, 8192u, 1, 0);
  expect(7, b[115] + 16386, 0, 1, 1, 9, 8192u, 1, 0);
  expect_number(7, b[114] + 32772, 1u);
  expect_below(7, b[115] + 32772, 2u);
  expect(7, b[114] + 49158, 0, 1, 1, 9, 8193u, 1, 9);
  expect(7, b[115] + 49158, 0, 1, 1, 9, 8192u, 1, 9);
  expect(7, b[114] + 65544, 0, 1, 1, 9, 8194u, 1, 9);
  must(MPI_Barrier(MPI_COMM_WORLD), 7, "MPI_Barrier");
  expect_no_more(7, &b[114], 81930);
  expect_no_more(7, &b[115], 81930);
  make(&b[114], 16386);
  make(&b[115], 16386);
  must(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, w[113]), 7, "MPI_Win_lock");
  must(MPI_Get(b[115], 16386, MPI_UNSIGNED, 0, 36, 16386, MPI_UNSIGNED, w[113]), 7, "MPI_Get");
  must(MPI_Win_unlock(0, w[113]), 7, "MPI_Win_unlock");
  expect_whole(7, b[115], 16386, 9092u);
  must(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, w[113]), 7, "MPI_Win_lock");
  must(MPI_Get(b[115], 16386, MPI_UNSIGNED, 1, 36, 16386, MPI_UNSIGNED, w[113]), 7, "MPI_Get");
  must(MPI_Win_flush(1, w[113]), 7, "MPI_Win_flush");
  must(MPI_Win_unlock(1, w[113]), 7, "MPI_Win_unlock");
  expect_whole(7, b[115], 16386, 9092u);
  must(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, w[113]), 7, "MPI_Win_lock");
  must(MPI_Get(b[115], 16386, MPI_UNSIGNED, 1, 36, 16386, MPI_UNSIGNED, w[113]), 7, "MPI_Get");
  must(MPI_Win_unlock(1, w[113]), 7, "MPI_Win_unlock");
  expect_whole(7, b[115], 16386, 9092u);
  }
  if (rank == 1) {
  must(MPI_Win_unlock_all(w[113]), 7, "MPI_Win_unlock_all");
  expect(7, b[115], 0, 1, 1, 9, 8192u, 1, 27);
  must(MPI_Barrier(MPI_COMM_WORLD), 7, "MPI_Barrier");
  expect_no_more(7, &b[114], 16386);
  expect_no_more(7, &b[115], 16386);
  make(&b[114], 16386);
  make(&b[115], 16386);
  fill_whole(b[114], 16386, 9092u, 24u);
  must(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, w[113]), 7, "MPI_Win_lock");
  must(MPI_Get(b[115], 16386, MPI_UNSIGNED, 0, 36, 16386, MPI_UNSIGNED, w[113]), 7, "MPI_Get");
  must(MPI_Win_flush(0, w[113]), 7, "MPI_Win_flush");
  must(MPI_Put(b[114], 16386, MPI_UNSIGNED, 0, 36, 16386, MPI_UNSIGNED, w[113]), 7, "MPI_Put");
  must(MPI_Win_unlock(0, w[113]), 7, "MPI_Win_unlock");
  expect_whole(7, b[115], 16386, 9092u);
  blank(b[114], 16386);
  fill_whole(b[114], 16386, 9092u, 73u);
  must(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, w[113]), 7, "MPI_Win_lock");
  must(MPI_Put(b[114], 16386, MPI_UNSIGNED, 1, 36, 16386, MPI_UNSIGNED, w[113]), 7, "MPI_Put");
  must(MPI_Win_unlock(1, w[113]), 7, "MPI_Win_unlock");
  blank(b[114], 16386);
  }
  if (rank == 2) {
  must(MPI_Win_unlock_all(w[113]), 7, "MPI_Win_unlock_all");
  expect(7, b[115], 0, 1, 1, 9, 8192u, 1, 54);
  must(MPI_Barrier(MPI_COMM_WORLD), 7, "MPI_Barrier");
  expect_no_more(7, &b[114], 32772);
  expect_no_more(7, &b[115], 32772);
  make(&b[114], 16386);
  make(&b[115], 16386);
  must(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, w[113]), 7, "MPI_Win_lock");
  must(MPI_Get(b[115], 16386, MPI_UNSIGNED, 0, 36, 16386, MPI_UNSIGNED, w[113]), 7, "MPI_Get");
  must(MPI_Win_flush(0, w[113]), 7, "MPI_Win_flush");
  must(MPI_Win_unlock(0, w[113]), 7, "MPI_Win_unlock");
  expect_whole(7, b[115], 16386, 9092u);
  must(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, w[113]), 7, "MPI_Win_lock");
  must(MPI_Get(b[115], 16386, MPI_UNSIGNED, 1, 36, 16386, MPI_UNSIGNED, w[113]), 7, "MPI_Get");
  must(MPI_Win_flush(1, w[113]), 7, "MPI_Win_flush");
  must(MPI_Win_unlock(1, w[113]), 7, "MPI_Win_unlock");
  expect_whole(7, b[115], 16386, 9092u);
  must(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, w[113]), 7, "MPI_Win_lock");
  must(MPI_Get(b[115], 16386, MPI_UNSIGNED, 1, 36, 16386, MPI_UNSIGNED, w[113]), 7, "MPI_Get");
  must(MPI_Win_unlock(1, w[113]), 7, "MPI_Win_unlock");
  expect_whole(7, b[115], 16386, 9092u);
  }
  /* step 7 goes on: window */
  if (rank == 0) {
  must(MPI_Barrier(MPI_COMM_WORLD), 7, "MPI_Barrier");
  expect_no_more(7, &b[114], 16386);
  expect_no_more(7, &b[115], 16386);
  make(&b[114], 16386);
  make(&b[115], 16386);
  fill_whole(b[114], 16386, 9092u, 36u);
  must(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, w[113]), 7, "MPI_Win_lock");
  must(MPI_Put(b[114], 16386, MPI_UNSIGNED, 1, 36, 16386, MPI_UNSIGNED, w[113]), 7, "MPI_Put");
  must(MPI_Win_unlock(1, w[113]), 7, "MPI_Win_unlock");
  blank(b[114], 16386);
  must(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, w[113]), 7, "MPI_Win_lock");
  must(MPI_Get(b[115], 16386, MPI_UNSIGNED, 0, 36, 16386, MPI_UNSIGNED, w[113]), 7, "MPI_Get");
  must(MPI_Win_unlock(0, w[113]), 7, "MPI_Win_unlock");
  expect_whole(7, b[115], 16386, 9092u);
  }
  if (rank == 1) {
  must(MPI_Barrier(MPI_COMM_WORLD), 7, "MPI_Barrier");
  expect_no_more(7, &b[114], 16386);
  expect_no_more(7, &b[115], 16386);
  make(&b[114], 16386);
  make(&b[115], 16386);
  must(MPI_Win_lock(MPI_LOCK_SHARED, 2, 0, w[113]), 7, "MPI_Win_lock");
  must(MPI_Get(b[115], 16386, MPI_UNSIGNED, 2, 36, 16386, MPI_UNSIGNED, w[113]), 7, "MPI_Get");
  must(MPI_Win_unlock(2, w[113]), 7, "MPI_Win_unlock");
  expect_whole(7, b[115], 16386, 9092u);
  fill_whole(b[114], 16386, 9092u, 26u);
  must(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 2, 0, w[113]), 7, "MPI_Win_lock");
  must(MPI_Put(b[114], 16386, MPI_UNSIGNED, 2, 36, 16386, MPI_UNSIGNED, w[113]), 7, "MPI_Put");
  must(MPI_Win_unlock(2, w[113]), 7, "MPI_Win_unlock");
  blank(b[114], 16386);
  }
  if (rank == 2) {
  must(MPI_Barrier(MPI_COMM_WORLD), 7, "MPI_Barrier");
  expect_no_more(7, &b[114], 16386);
  expect_no_more(7, &b[115], 16386);
  make(&b[114], 16386);
  make(&b[115], 16386);
  must(MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, w[113]), 7, "MPI_Win_lock");
  must(MPI_Get(b[115], 16386, MPI_UNSIGNED, 1, 36, 16386, MPI_UNSIGNED, w[113]), 7, "MPI_Get");
  must(MPI_Win_unlock(1, w[113]), 7, "MPI_Win_unlock");
  expect_whole(7, b[115], 16386, 9092u);
  }
  /* step 7 ends: window */
  if (rank == 0) {
  must(MPI_Barrier(MPI_COMM_WORLD), 7, "MPI_Barrier");
  expect_no_more(7, &b[114], 16386);
  expect_no_more(7, &b[115], 16386);
  must(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, w[113]), 7, "MPI_Win_lock");
  expect(7, b[113], 0, 1, 1, 9, 8192u, 1, 0);
  expect(7, b[113] + 9, 0, 1, 1, 9, 8192u, 1, 27);
  expect(7, b[113] + 18, 0, 1, 1, 9, 8193u, 1, 54);
  expect(7, b[113] + 27, 0, 1, 1, 9, 8704u, 2, 0);
  expect_whole(7, b[113] + 36, 16386, 9092u);
  expect_number(7, b[113] + 16422, 0u);
  expect_number(7, b[113] + 16423, 0u);
  expect_number(7, b[113] + 16424, 0u);
  expect_number(7, b[113] + 16425, 2u);
  expect_blank(7, b[113], 16426);
  must(MPI_Win_unlock(0, w[113]), 7, "MPI_Win_unlock");
  must(MPI_Win_free(&w[113]), 7, "MPI_Win_free");
  }
  if (rank == 1) {
  must(MPI_Barrier(MPI_COMM_WORLD), 7, "MPI_Barrier");
  expect_no_more(7, &b[114], 16386);
  expect_no_more(7, &b[115], 16386);
  must(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, w[113]), 7, "MPI_Win_lock");
  expect(7, b[113], 0, 1, 1, 9, 8194u, 1, 9);
  expect(7, b[113] + 9, 0, 1, 1, 9, 8192u, 1, 36);
  expect(7, b[113] + 18, 0, 1, 1, 9, 8192u, 1, 63);
  expect(7, b[113] + 27, 0, 1, 1, 9, 8704u, 1, 0);
  expect_whole(7, b[113] + 36, 16386, 9092u);
  expect_number(7, b[113] + 16422, 0u);
  expect_number(7, b[113] + 16423, 0u);
  expect_number(7, b[113] + 16424, 0u);
  expect_number(7, b[113] + 16425, 1u);
  expect_blank(7, b[113], 16426);
  must(MPI_Win_unlock(1, w[113]), 7, "MPI_Win_unlock");
  must(MPI_Win_free(&w[113]), 7, "MPI_Win_free");
  }
  if (rank == 2) {
  must(MPI_Barrier(MPI_COMM_WORLD), 7, "MPI_Barrier");
  expect_no_more(7, &b[114], 16386);
  expect_no_more(7, &b[115], 16386);
  must(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 2, 0, w[113]), 7, "MPI_Win_lock");
  expect(7, b[113] + 27, 0, 1, 1, 9, 8704u, 1, 0);
  expect_whole(7, b[113] + 36, 16386, 9092u);
  expect_number(7, b[113] + 16422, 0u);
  expect_number(7, b[113] + 16423, 0u);
  expect_number(7, b[113] + 16424, 0u);
  expect_number(7, b[113] + 16425, 0u);
  expect_blank(7, b[113], 16426);
  must(MPI_Win_unlock(2, w[113]), 7, "MPI_Win_unlock");
  must(MPI_Win_free(&w[113]), 7, "MPI_Win_free");
  }
  MPI_Finalize();
  return 0;
}
