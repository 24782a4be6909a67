// SPDX-License-Identifier: BSD-3-Clause
// ranks: 1
// Envelope and contents of every constructor, with int and with large counts.
#include <mpi.h>

#include <cstdio>
#include <vector>

namespace {

using Counts = std::vector<MPI_Count>;

int errors = 0;

/// Checks both and frees the type. Of types made from MPI_INT alone, or from `kinds`.
void expect(const char* what, MPI_Datatype type, int combiner, const std::vector<int>& integers,
            const std::vector<MPI_Aint>& addresses, const Counts& large, const std::vector<MPI_Datatype>& kinds) {
  MPI_Count n[4];
  int got = -1;
  MPI_Type_get_envelope_c(type, &n[0], &n[1], &n[2], &n[3], &got);
  std::vector<int> i(static_cast<std::size_t>(n[0]));
  std::vector<MPI_Aint> a(static_cast<std::size_t>(n[1]));
  Counts c(static_cast<std::size_t>(n[2]));
  std::vector<MPI_Datatype> t(static_cast<std::size_t>(n[3]));
  MPI_Type_get_contents_c(type, n[0], n[1], n[2], n[3], i.data(), a.data(), c.data(), t.data());
  bool good = got == combiner && i == integers && a == addresses && c == large && t == kinds;
  if (large.empty()) {
    int m[3];
    MPI_Type_get_envelope(type, &m[0], &m[1], &m[2], &got);
    good = good && got == combiner && m[0] == n[0] && m[1] == n[1] && m[2] == n[3];
    i.assign(i.size(), -1);
    a.assign(a.size(), -1);
    MPI_Type_get_contents(type, m[0], m[1], m[2], i.data(), a.data(), t.data());
    good = good && i == integers && a == addresses && t == kinds;
  }
  if (!good) std::printf("wrong contents: %s\n", what), ++errors;
  MPI_Type_free(&type);
}

void small_counts() {
  const std::vector<MPI_Datatype> ints{MPI_INT};
  MPI_Datatype t;
  MPI_Type_dup(MPI_INT, &t);
  expect("dup", t, MPI_COMBINER_DUP, {}, {}, {}, ints);
  MPI_Type_contiguous(3, MPI_INT, &t);
  expect("contiguous", t, MPI_COMBINER_CONTIGUOUS, {3}, {}, {}, ints);
  MPI_Type_vector(3, 2, -5, MPI_INT, &t);
  expect("vector", t, MPI_COMBINER_VECTOR, {3, 2, -5}, {}, {}, ints);
  MPI_Type_create_hvector(3, 2, 50, MPI_INT, &t);
  expect("hvector", t, MPI_COMBINER_HVECTOR, {3, 2}, {50}, {}, ints);
  MPI_Type_create_resized(MPI_INT, -4, 12, &t);
  expect("resized", t, MPI_COMBINER_RESIZED, {}, {-4, 12}, {}, ints);

  const int lengths[] = {1, 2}, places[] = {7, 3};
  const MPI_Aint distances[] = {70, 30};
  MPI_Type_indexed(2, lengths, places, MPI_INT, &t);
  expect("indexed", t, MPI_COMBINER_INDEXED, {2, 1, 2, 7, 3}, {}, {}, ints);
  MPI_Type_create_hindexed(2, lengths, distances, MPI_INT, &t);
  expect("hindexed", t, MPI_COMBINER_HINDEXED, {2, 1, 2}, {70, 30}, {}, ints);
  MPI_Type_create_indexed_block(2, 4, places, MPI_INT, &t);
  expect("indexed_block", t, MPI_COMBINER_INDEXED_BLOCK, {2, 4, 7, 3}, {}, {}, ints);
  MPI_Type_create_hindexed_block(2, 4, distances, MPI_INT, &t);
  expect("hindexed_block", t, MPI_COMBINER_HINDEXED_BLOCK, {2, 4}, {70, 30}, {}, ints);
  const MPI_Datatype kinds[] = {MPI_INT, MPI_DOUBLE};
  MPI_Type_create_struct(2, lengths, distances, kinds, &t);
  expect("struct", t, MPI_COMBINER_STRUCT, {2, 1, 2}, {70, 30}, {}, {MPI_INT, MPI_DOUBLE});

  const int sizes[] = {4, 6}, parts[] = {2, 3}, starts[] = {1, 0};
  MPI_Type_create_subarray(2, sizes, parts, starts, MPI_ORDER_C, MPI_INT, &t);
  expect("subarray", t, MPI_COMBINER_SUBARRAY, {2, 4, 6, 2, 3, 1, 0, MPI_ORDER_C}, {}, {}, ints);
  const int kind[] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC}, dargs[] = {MPI_DISTRIBUTE_DFLT_DARG, 2};
  const int procs[] = {2, 1};
  MPI_Type_create_darray(2, 1, 2, sizes, kind, dargs, procs, MPI_ORDER_FORTRAN, MPI_INT, &t);
  expect("darray", t, MPI_COMBINER_DARRAY,
         {2, 1, 2, 4, 6, kind[0], kind[1], dargs[0], dargs[1], 2, 1, MPI_ORDER_FORTRAN}, {}, {}, ints);
}

void large_counts() {
  const std::vector<MPI_Datatype> ints{MPI_INT};
  MPI_Datatype t;
  MPI_Type_contiguous_c(3, MPI_INT, &t);
  expect("contiguous_c", t, MPI_COMBINER_CONTIGUOUS, {}, {}, {3}, ints);
  MPI_Type_vector_c(3, 2, -5, MPI_INT, &t);
  expect("vector_c", t, MPI_COMBINER_VECTOR, {}, {}, {3, 2, -5}, ints);
  MPI_Type_create_hvector_c(3, 2, 50, MPI_INT, &t);
  expect("hvector_c", t, MPI_COMBINER_HVECTOR, {}, {}, {3, 2, 50}, ints);
  MPI_Type_create_resized_c(MPI_INT, -4, 12, &t);
  expect("resized_c", t, MPI_COMBINER_RESIZED, {}, {}, {-4, 12}, ints);

  const MPI_Count lengths[] = {1, 2}, places[] = {70, 30};
  MPI_Type_indexed_c(2, lengths, places, MPI_INT, &t);
  expect("indexed_c", t, MPI_COMBINER_INDEXED, {}, {}, {2, 1, 2, 70, 30}, ints);
  MPI_Type_create_hindexed_c(2, lengths, places, MPI_INT, &t);
  expect("hindexed_c", t, MPI_COMBINER_HINDEXED, {}, {}, {2, 1, 2, 70, 30}, ints);
  MPI_Type_create_indexed_block_c(2, 4, places, MPI_INT, &t);
  expect("indexed_block_c", t, MPI_COMBINER_INDEXED_BLOCK, {}, {}, {2, 4, 70, 30}, ints);
  MPI_Type_create_hindexed_block_c(2, 4, places, MPI_INT, &t);
  expect("hindexed_block_c", t, MPI_COMBINER_HINDEXED_BLOCK, {}, {}, {2, 4, 70, 30}, ints);
  const MPI_Datatype kinds[] = {MPI_INT, MPI_DOUBLE};
  MPI_Type_create_struct_c(2, lengths, places, kinds, &t);
  expect("struct_c", t, MPI_COMBINER_STRUCT, {}, {}, {2, 1, 2, 70, 30}, {MPI_INT, MPI_DOUBLE});

  const MPI_Count sizes[] = {4, 6}, parts[] = {2, 3}, starts[] = {1, 0};
  MPI_Type_create_subarray_c(2, sizes, parts, starts, MPI_ORDER_C, MPI_INT, &t);
  expect("subarray_c", t, MPI_COMBINER_SUBARRAY, {2, MPI_ORDER_C}, {}, {4, 6, 2, 3, 1, 0}, ints);
  const int kind[] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_NONE}, dargs[] = {2, 0}, procs[] = {2, 1};
  MPI_Type_create_darray_c(2, 1, 2, sizes, kind, dargs, procs, MPI_ORDER_C, MPI_INT, &t);
  expect("darray_c", t, MPI_COMBINER_DARRAY, {2, 1, 2, kind[0], kind[1], 2, 0, 2, 1, MPI_ORDER_C}, {}, {4, 6}, ints);
}

void fortran_kinds() {
  MPI_Datatype t, again, other;
  int n[3], combiner, integers[2];
  MPI_Type_create_f90_real(10, 50, &t);
  MPI_Type_create_f90_real(10, 50, &again);
  MPI_Type_create_f90_real(11, 50, &other);
  MPI_Type_get_envelope(t, &n[0], &n[1], &n[2], &combiner);
  MPI_Type_get_contents(t, 2, 0, 0, integers, nullptr, nullptr);
  const bool good = t == again && t != other && combiner == MPI_COMBINER_F90_REAL && n[0] == 2 && n[1] == 0 &&
                    n[2] == 0 && integers[0] == 10 && integers[1] == 50;
  int size = 0;
  MPI_Type_create_f90_integer(12, &t);
  MPI_Type_size(t, &size);
  if (!good || size != 8) std::printf("wrong Fortran kinds\n"), ++errors;
}

}  // namespace

int main() {
  MPI_Init(nullptr, nullptr);
  small_counts();
  large_counts();
  fortran_kinds();
  MPI_Finalize();
  return errors != 0;
}
