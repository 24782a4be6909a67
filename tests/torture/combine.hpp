// SPDX-License-Identifier: BSD-3-Clause
// Elements that all origins combine in one place of a window, in whatever order: C, as in content.hpp. The kind says
// the operation, which has an order or adds up, and the type; the contributions are the numbers from 1 on.
#pragma once

#include "content.hpp"

namespace torture {
constexpr int kCombineKinds = 11;
constexpr int kCombineWords = 8;  // of the largest element

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wold-style-cast"  // it is C as well
#pragma GCC diagnostic ignored "-Wcast-align"
#pragma GCC diagnostic ignored "-Wunused-function"  // each source uses some
// clang-format off
TORTURE_BOTH(content_of_combine,
  static inline MPI_Datatype combined_type(int kind) {
    switch (kind) {
      case 0: return MPI_DOUBLE_INT;
      case 1: return MPI_SHORT_INT;
      case 2: return MPI_LONG_DOUBLE_INT;
      case 3: return MPI_2INT;
      case 4: return MPI_LONG_DOUBLE;
      case 5: return MPI_DOUBLE;
      case 6: return MPI_C_DOUBLE_COMPLEX;
      case 7: return MPI_UNSIGNED_CHAR;
      case 8: return MPI_SHORT;
      case 9: return MPI_LONG;
      default: return MPI_INT;
    }
  }

  static inline MPI_Op combined_op(int kind) {
    switch (kind) {
      case 0: case 2: return MPI_MAXLOC;
      case 1: case 3: return MPI_MINLOC;
      case 4: case 5: case 6: return MPI_SUM;
      case 7: return MPI_BXOR;
      case 8: return MPI_MIN;
      case 9: return MPI_MAX;
      default: return MPI_LXOR;
    }
  }

  static inline long combined_value(int kind, long given, int place) {
    switch (kind) {
      case 0: case 2: case 9: case 10: return given;
      case 1: case 3: case 8: return -given;
      case 7: return (given + place) & 255;
      default: return given + place;
    }
  }

  static inline long combined_all(int kind, long many, int place) {
    long all = 0;
    switch (kind) {
      case 0: case 2: case 9: return many;
      case 1: case 3: case 8: return -many;
      case 10: return many & 1;
      default:
        for (long given = 1; given <= many; ++given)
          all = kind == 7 ? all ^ combined_value(kind, given, place) : all + combined_value(kind, given, place);
        return all;
    }
  }

  static inline void set_combined(char* to, int kind, long value, long index) {
    switch (kind) {
      case 0: *(double*)to = (double)value; *(int*)(to + 8) = (int)index; break;
      case 1: *(short*)to = (short)value; *(int*)(to + 4) = (int)index; break;
      case 2: *(long double*)to = (long double)value; *(int*)(to + 16) = (int)index; break;
      case 3: *(int*)to = (int)value; *(int*)(to + 4) = (int)index; break;
      case 4: *(long double*)to = (long double)value; break;
      case 5: *(double*)to = (double)value; break;
      case 6: *(double*)to = (double)value; *(double*)(to + 8) = (double)-value; break;
      case 7: *(unsigned char*)to = (unsigned char)value; break;
      case 8: *(short*)to = (short)value; break;
      case 9: *(long*)to = value; break;
      default: *(int*)to = (int)value;
    }
  }

  static inline int is_combined(const char* at, int kind, long value, long index) {
    switch (kind) {
      case 0: return *(const double*)at == (double)value && *(const int*)(at + 8) == (int)index;
      case 1: return *(const short*)at == (short)value && *(const int*)(at + 4) == (int)index;
      case 2: return *(const long double*)at == (long double)value && *(const int*)(at + 16) == (int)index;
      case 3: return *(const int*)at == (int)value && *(const int*)(at + 4) == (int)index;
      case 4: return *(const long double*)at == (long double)value;
      case 5: return *(const double*)at == (double)value;
      case 6: return *(const double*)at == (double)value && *(const double*)(at + 8) == (double)-value;
      case 7: return *(const unsigned char*)at == (unsigned char)value;
      case 8: return *(const short*)at == (short)value;
      case 9: return *(const long*)at == value;
      default: return *(const int*)at == (int)value;
    }
  }

  static inline char* combined_place(void* at, int kind, int place) {
    MPI_Aint low;
    MPI_Aint extent;
    MPI_Type_get_extent(combined_type(kind), &low, &extent);
    return (char*)at + place * extent;
  }

  static inline void begin_combined(unsigned* at, int kind, int many) {
    for (int i = 0; i < many; ++i) set_combined(combined_place(at, kind, i), kind, 0, 0);
  }

  static inline void combine(int step, unsigned* out, unsigned* in, int kind, int many, int given, int how, int target, MPI_Aint at, MPI_Aint apart, MPI_Win window) {
    const MPI_Datatype type = combined_type(kind);
    const MPI_Op op = combined_op(kind);
    const long extent = combined_place(out, kind, 1) - (char*)out;
    MPI_Request request;
    if (how == 2 && extent % apart != 0) how = 0;
    for (int i = 0; i < many; ++i) set_combined(combined_place(out, kind, i), kind, combined_value(kind, given, i), 3 * given + i);
    if (how == 0) must(MPI_Accumulate(out, many, type, target, at, many, type, op, window), step, "MPI_Accumulate");
    if (how == 1) must(MPI_Get_accumulate(out, many, type, in, many, type, target, at, many, type, op, window), step, "MPI_Get_accumulate");
    if (how == 2)
      for (int i = 0; i < many; ++i)
        must(MPI_Fetch_and_op((char*)out + i * extent, (char*)in + i * extent, type, target, at + i * extent / apart, op, window), step, "MPI_Fetch_and_op");
    if (how == 3) must(MPI_Raccumulate(out, many, type, target, at, many, type, op, window, &request), step, "MPI_Raccumulate");
    if (how == 4) must(MPI_Rget_accumulate(out, many, type, in, many, type, target, at, many, type, op, window, &request), step, "MPI_Rget_accumulate");
    if (how > 2) must(MPI_Wait(&request, MPI_STATUS_IGNORE), step, "MPI_Wait");
  }

  static inline void expect_combined(int step, unsigned* at, int kind, int many, int given) {
    for (int i = 0; i < many; ++i)
      if (!is_combined(combined_place(at, kind, i), kind, combined_all(kind, given, i), given > 0 ? 3L * given + i : 0))
        failed(step, "element that all combine", i, (unsigned)kind, (unsigned)given);
  }
)
// clang-format on
#pragma GCC diagnostic pop
}  // namespace torture
