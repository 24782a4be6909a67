// SPDX-License-Identifier: BSD-3-Clause
// Predefined types by what they can hold: by size, and by the decimal precision and range that Fortran asks for.
#include <algorithm>
#include <array>

#include "mpi/define.hpp"
#include "mpi/type/make.hpp"

namespace rmq::mpi {
namespace {

struct Sized {
  int size;  // bytes
  MPI_Datatype handle;
};
constexpr Sized kIntegers[] = {{1, MPI_INTEGER1}, {2, MPI_INTEGER2}, {4, MPI_INTEGER4}, {8, MPI_INTEGER8}};
constexpr Sized kReals[] = {{4, MPI_REAL4}, {8, MPI_REAL8}, {16, MPI_REAL16}};
constexpr Sized kComplexes[] = {{8, MPI_COMPLEX8}, {16, MPI_COMPLEX16}, {32, MPI_COMPLEX32}};

MPI_Datatype match(std::span<const Sized> candidates, int size) {
  for (const Sized& candidate : candidates) {
    if (candidate.size == size) return candidate.handle;
  }
  fail_call(MPI_ERR_ARG, "no type of this class has " + std::to_string(size) + " bytes");
}

/// A kind of Fortran: the least that has p digits and a range of 10**r is the one that selected_real_kind() gives. What
/// the caller leaves open is MPI_UNDEFINED, less than anything a kind has.
struct Kind {
  int digits;
  int range;
  MPI_Datatype real;
  MPI_Datatype complex;
};
constexpr Kind kFloatingKinds[] = {
    {6, 37, MPI_REAL4, MPI_COMPLEX8},
    {15, 307, MPI_REAL8, MPI_COMPLEX16},
    {18, 4931, MPI_LONG_DOUBLE, MPI_C_LONG_DOUBLE_COMPLEX},  // gfortran's kind 10
    {33, 4931, MPI_REAL16, MPI_COMPLEX32},
};
constexpr Kind kIntegerKinds[] = {
    {2, 0, MPI_INTEGER1, 0}, {4, 0, MPI_INTEGER2, 0}, {9, 0, MPI_INTEGER4, 0}, {18, 0, MPI_INTEGER8, 0}};

const Kind& kind_of(std::span<const Kind> kinds, int digits, int range) {
  for (const Kind& kind : kinds) {
    if (kind.digits >= digits && kind.range >= range) return kind;
  }
  fail_call(MPI_ERR_ARG, "no kind of Fortran offers this precision and range");
}

/// The unnamed predefined type for these arguments: the same handle whenever they come again. Lives until the end.
MPI_Datatype unnamed_type(MPI_Datatype like, int combiner, std::span<const int> arguments) {
  struct Known {
    int combiner;
    std::array<int, 2> arguments;
    MPI_Datatype handle;
  };
  static std::vector<Known> known;
  std::array<int, 2> key{};
  std::copy(arguments.begin(), arguments.end(), key.begin());
  for (const Known& k : known) {
    if (k.combiner == combiner && k.arguments == key) return k.handle;
  }
  TypeContents contents;
  contents.combiner = combiner;
  contents.integers.assign(arguments.begin(), arguments.end());
  Datatype& type = make_type(type_arg(like).layout, std::move(contents));
  type.predefined = type.committed = true;
  known.push_back({combiner, key, type.handle});
  return type.handle;
}

}  // namespace

RMQ_MPI(int, Type_match_size, (int typeclass, int size, MPI_Datatype* datatype)) {
  return enter([&] {
    out(datatype, "datatype");
    switch (typeclass) {
      case MPI_TYPECLASS_INTEGER:
        *datatype = match(kIntegers, size);
        break;
      case MPI_TYPECLASS_REAL:
        *datatype = match(kReals, size);
        break;
      case MPI_TYPECLASS_COMPLEX:
        *datatype = match(kComplexes, size);
        break;
      default:
        fail_call(MPI_ERR_ARG, "argument typeclass is " + std::to_string(typeclass) + ", no MPI_TYPECLASS_");
    }
  });
}

RMQ_MPI(int, Type_create_f90_integer, (int r, MPI_Datatype* newtype)) {
  return enter([&] {
    const int arguments[] = {r};
    *out(newtype, "newtype") = unnamed_type(kind_of(kIntegerKinds, r, 0).real, MPI_COMBINER_F90_INTEGER, arguments);
  });
}

RMQ_MPI(int, Type_create_f90_real, (int p, int r, MPI_Datatype* newtype)) {
  return enter([&] {
    const int arguments[] = {p, r};
    *out(newtype, "newtype") = unnamed_type(kind_of(kFloatingKinds, p, r).real, MPI_COMBINER_F90_REAL, arguments);
  });
}

RMQ_MPI(int, Type_create_f90_complex, (int p, int r, MPI_Datatype* newtype)) {
  return enter([&] {
    const int arguments[] = {p, r};
    *out(newtype, "newtype") = unnamed_type(kind_of(kFloatingKinds, p, r).complex, MPI_COMBINER_F90_COMPLEX, arguments);
  });
}

// MPI-4.1: the pair of a value and an index, for MPI_MINLOC and MPI_MAXLOC; MPI_DATATYPE_NULL where there is none.
RMQ_MPI(int, Type_get_value_index, (MPI_Datatype value_type, MPI_Datatype index_type, MPI_Datatype* pair_type)) {
  return enter([&] {
    struct Pair {
      MPI_Datatype value, index, pair;
    };
    static constexpr Pair kPairs[] = {
        {MPI_FLOAT, MPI_INT, MPI_FLOAT_INT},
        {MPI_DOUBLE, MPI_INT, MPI_DOUBLE_INT},
        {MPI_LONG, MPI_INT, MPI_LONG_INT},
        {MPI_SHORT, MPI_INT, MPI_SHORT_INT},
        {MPI_INT, MPI_INT, MPI_2INT},
        {MPI_LONG_DOUBLE, MPI_INT, MPI_LONG_DOUBLE_INT},
        {MPI_INTEGER, MPI_INTEGER, MPI_2INTEGER},
        {MPI_REAL, MPI_REAL, MPI_2REAL},
        {MPI_DOUBLE_PRECISION, MPI_DOUBLE_PRECISION, MPI_2DOUBLE_PRECISION},
    };
    type_arg(value_type, "value_type");
    type_arg(index_type, "index_type");
    const auto* found = std::find_if(std::begin(kPairs), std::end(kPairs),
                                     [&](const Pair& p) { return p.value == value_type && p.index == index_type; });
    *out(pair_type, "pair_type") = found == std::end(kPairs) ? MPI_DATATYPE_NULL : found->pair;
  });
}

}  // namespace rmq::mpi
