// SPDX-License-Identifier: BSD-3-Clause
// ranks: 1
// Size, extent, true extent and name of every predefined type.
#include <mpi.h>

#include <cstdio>
#include <cstring>

namespace {

struct Expected {
  MPI_Datatype type;
  const char* name;
  int size;
  MPI_Aint extent;
  MPI_Aint true_extent;
};
#define SAME(type, size) \
  { type, #type, size, size, size }

const Expected kExpected[] = {
    SAME(MPI_CHAR, 1),
    SAME(MPI_SIGNED_CHAR, 1),
    SAME(MPI_UNSIGNED_CHAR, 1),
    SAME(MPI_WCHAR, 4),
    SAME(MPI_SHORT, 2),
    SAME(MPI_UNSIGNED_SHORT, 2),
    SAME(MPI_INT, 4),
    SAME(MPI_UNSIGNED, 4),
    SAME(MPI_LONG, 8),
    SAME(MPI_UNSIGNED_LONG, 8),
    SAME(MPI_LONG_LONG_INT, 8),
    SAME(MPI_UNSIGNED_LONG_LONG, 8),
    SAME(MPI_FLOAT, 4),
    SAME(MPI_DOUBLE, 8),
    SAME(MPI_LONG_DOUBLE, 16),
    SAME(MPI_C_BOOL, 1),
    SAME(MPI_C_DOUBLE_COMPLEX, 16),
    SAME(MPI_C_LONG_DOUBLE_COMPLEX, 32),
    SAME(MPI_INT8_T, 1),
    SAME(MPI_INT16_T, 2),
    SAME(MPI_INT32_T, 4),
    SAME(MPI_INT64_T, 8),
    SAME(MPI_UINT8_T, 1),
    SAME(MPI_UINT16_T, 2),
    SAME(MPI_UINT32_T, 4),
    SAME(MPI_UINT64_T, 8),
    SAME(MPI_CXX_BOOL, 1),
    SAME(MPI_CXX_FLOAT_COMPLEX, 8),
    SAME(MPI_CXX_DOUBLE_COMPLEX, 16),
    SAME(MPI_CXX_LONG_DOUBLE_COMPLEX, 32),
    SAME(MPI_BYTE, 1),
    SAME(MPI_PACKED, 1),
    SAME(MPI_AINT, 8),
    SAME(MPI_OFFSET, 8),
    SAME(MPI_COUNT, 8),
    SAME(MPI_2INT, 8),
    SAME(MPI_FLOAT_INT, 8),
    {MPI_DOUBLE_INT, "MPI_DOUBLE_INT", 12, 16, 12},
    {MPI_LONG_INT, "MPI_LONG_INT", 12, 16, 12},
    {MPI_SHORT_INT, "MPI_SHORT_INT", 6, 8, 8},
    {MPI_LONG_DOUBLE_INT, "MPI_LONG_DOUBLE_INT", 20, 32, 20},
    SAME(MPI_CHARACTER, 1),
    SAME(MPI_LOGICAL, 4),
    SAME(MPI_INTEGER, 4),
    SAME(MPI_REAL, 4),
    SAME(MPI_DOUBLE_PRECISION, 8),
    SAME(MPI_COMPLEX, 8),
    SAME(MPI_DOUBLE_COMPLEX, 16),
    SAME(MPI_2INTEGER, 8),
    SAME(MPI_2REAL, 8),
    SAME(MPI_2DOUBLE_PRECISION, 16),
    SAME(MPI_INTEGER1, 1),
    SAME(MPI_INTEGER2, 2),
    SAME(MPI_INTEGER4, 4),
    SAME(MPI_INTEGER8, 8),
    SAME(MPI_REAL4, 4),
    SAME(MPI_REAL8, 8),
    SAME(MPI_REAL16, 16),
    SAME(MPI_COMPLEX8, 8),
    SAME(MPI_COMPLEX16, 16),
    SAME(MPI_COMPLEX32, 32),
};

bool check(const Expected& e) {
  int size = -1, length = -1, integers, addresses, types, combiner = -1;
  MPI_Count large_size = -1;
  MPI_Aint lb = -1, extent = -1, true_lb = -1, true_extent = -1;
  char name[MPI_MAX_OBJECT_NAME];
  MPI_Type_size(e.type, &size);
  MPI_Type_size_c(e.type, &large_size);
  MPI_Type_get_extent(e.type, &lb, &extent);
  MPI_Type_get_true_extent(e.type, &true_lb, &true_extent);
  MPI_Type_get_name(e.type, name, &length);
  MPI_Type_get_envelope(e.type, &integers, &addresses, &types, &combiner);
  const bool good = size == e.size && large_size == e.size && lb == 0 && extent == e.extent && true_lb == 0 &&
                    true_extent == e.true_extent && std::strcmp(name, e.name) == 0 &&
                    length == static_cast<int>(std::strlen(e.name)) && combiner == MPI_COMBINER_NAMED &&
                    integers == 0 && addresses == 0 && types == 0;
  if (!good)
    std::printf("%s: got \"%s\" size %d extent %ld..%ld true %ld..%ld\n", e.name, name, size, lb, extent, true_lb,
                true_extent);
  return good;
}

}  // namespace

int main() {
  MPI_Init(nullptr, nullptr);
  int errors = 0;
  for (const Expected& e : kExpected) errors += !check(e);

  char name[MPI_MAX_OBJECT_NAME];
  int length;
  MPI_Type_set_name(MPI_INT, "whole number");
  MPI_Type_get_name(MPI_INT, name, &length);
  errors += std::strcmp(name, "whole number") != 0;
  MPI_Type_commit(&const_cast<MPI_Datatype&>(kExpected[0].type));  // allowed, and without effect
  MPI_Finalize();
  return errors != 0;
}
