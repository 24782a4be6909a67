// SPDX-License-Identifier: BSD-3-Clause
// The predefined types of the ABI: which exist, how large they are, what reductions make of them.
// Fortran's are the defaults of gfortran: INTEGER, REAL and LOGICAL of 4 bytes, DOUBLE PRECISION of 8.
#include <array>

#include "engine/object/datatypes.hpp"

namespace rmq::mpi {
namespace {

struct BuiltinSpec {
  MPI_Datatype handle;
  const char* name;
  Basic basic;
  std::uint8_t size;        // data bytes
  std::uint8_t extent = 0;  // bytes; 0: as size
};

constexpr BuiltinSpec kSpecs[] = {
    // C
    {MPI_CHAR, "MPI_CHAR", Basic::i8, 1},  // MPICH's extension: arithmetic on plain char
    {MPI_SIGNED_CHAR, "MPI_SIGNED_CHAR", Basic::i8, 1},
    {MPI_UNSIGNED_CHAR, "MPI_UNSIGNED_CHAR", Basic::u8, 1},
    {MPI_WCHAR, "MPI_WCHAR", Basic::character, sizeof(wchar_t)},
    {MPI_SHORT, "MPI_SHORT", Basic::i16, 2},
    {MPI_UNSIGNED_SHORT, "MPI_UNSIGNED_SHORT", Basic::u16, 2},
    {MPI_INT, "MPI_INT", Basic::i32, 4},
    {MPI_UNSIGNED, "MPI_UNSIGNED", Basic::u32, 4},
    {MPI_LONG, "MPI_LONG", Basic::i64, 8},
    {MPI_UNSIGNED_LONG, "MPI_UNSIGNED_LONG", Basic::u64, 8},
    {MPI_LONG_LONG_INT, "MPI_LONG_LONG_INT", Basic::i64, 8},
    {MPI_UNSIGNED_LONG_LONG, "MPI_UNSIGNED_LONG_LONG", Basic::u64, 8},
    {MPI_FLOAT, "MPI_FLOAT", Basic::f32, 4},
    {MPI_DOUBLE, "MPI_DOUBLE", Basic::f64, 8},
    {MPI_LONG_DOUBLE, "MPI_LONG_DOUBLE", Basic::f80, 16},
    {MPI_C_BOOL, "MPI_C_BOOL", Basic::boolean, 1},
    {MPI_C_COMPLEX, "MPI_C_COMPLEX", Basic::c32, 8},
    {MPI_C_DOUBLE_COMPLEX, "MPI_C_DOUBLE_COMPLEX", Basic::c64, 16},
    {MPI_C_LONG_DOUBLE_COMPLEX, "MPI_C_LONG_DOUBLE_COMPLEX", Basic::c80, 32},
    {MPIX_C_FLOAT16, "MPIX_C_FLOAT16", Basic::none, 2},
    {MPI_INT8_T, "MPI_INT8_T", Basic::i8, 1},
    {MPI_INT16_T, "MPI_INT16_T", Basic::i16, 2},
    {MPI_INT32_T, "MPI_INT32_T", Basic::i32, 4},
    {MPI_INT64_T, "MPI_INT64_T", Basic::i64, 8},
    {MPI_UINT8_T, "MPI_UINT8_T", Basic::u8, 1},
    {MPI_UINT16_T, "MPI_UINT16_T", Basic::u16, 2},
    {MPI_UINT32_T, "MPI_UINT32_T", Basic::u32, 4},
    {MPI_UINT64_T, "MPI_UINT64_T", Basic::u64, 8},
    // C++
    {MPI_CXX_BOOL, "MPI_CXX_BOOL", Basic::boolean, 1},
    {MPI_CXX_FLOAT_COMPLEX, "MPI_CXX_FLOAT_COMPLEX", Basic::c32, 8},
    {MPI_CXX_DOUBLE_COMPLEX, "MPI_CXX_DOUBLE_COMPLEX", Basic::c64, 16},
    {MPI_CXX_LONG_DOUBLE_COMPLEX, "MPI_CXX_LONG_DOUBLE_COMPLEX", Basic::c80, 32},
    // MPI's own
    {MPI_BYTE, "MPI_BYTE", Basic::byte, 1},
    {MPI_PACKED, "MPI_PACKED", Basic::packed, 1},
    {MPI_AINT, "MPI_AINT", Basic::i64, 8},
    {MPI_OFFSET, "MPI_OFFSET", Basic::i64, 8},
    {MPI_COUNT, "MPI_COUNT", Basic::i64, 8},
    {MPI_LB, "MPI_LB", Basic::none, 0},
    {MPI_UB, "MPI_UB", Basic::none, 0},
    // Pairs whose handle is of the common kind
    {MPI_2INT, "MPI_2INT", Basic::i32_i32, 8},
    {MPI_2INTEGER, "MPI_2INTEGER", Basic::i32_i32, 8},
    {MPI_2REAL, "MPI_2REAL", Basic::f32_f32, 8},
    {MPI_2DOUBLE_PRECISION, "MPI_2DOUBLE_PRECISION", Basic::f64_f64, 16},
    // Fortran
    {MPI_CHARACTER, "MPI_CHARACTER", Basic::character, 1},
    {MPI_LOGICAL, "MPI_LOGICAL", Basic::logical, 4},
    {MPI_INTEGER, "MPI_INTEGER", Basic::i32, 4},
    {MPI_REAL, "MPI_REAL", Basic::f32, 4},
    {MPI_DOUBLE_PRECISION, "MPI_DOUBLE_PRECISION", Basic::f64, 8},
    {MPI_COMPLEX, "MPI_COMPLEX", Basic::c32, 8},
    {MPI_DOUBLE_COMPLEX, "MPI_DOUBLE_COMPLEX", Basic::c64, 16},
    {MPI_INTEGER1, "MPI_INTEGER1", Basic::i8, 1},
    {MPI_INTEGER2, "MPI_INTEGER2", Basic::i16, 2},
    {MPI_INTEGER4, "MPI_INTEGER4", Basic::i32, 4},
    {MPI_INTEGER8, "MPI_INTEGER8", Basic::i64, 8},
    {MPI_REAL4, "MPI_REAL4", Basic::f32, 4},
    {MPI_REAL8, "MPI_REAL8", Basic::f64, 8},
    {MPI_REAL16, "MPI_REAL16", Basic::f128, 16},
    {MPI_COMPLEX8, "MPI_COMPLEX8", Basic::c32, 8},
    {MPI_COMPLEX16, "MPI_COMPLEX16", Basic::c64, 16},
    {MPI_COMPLEX32, "MPI_COMPLEX32", Basic::c128, 32},
};

/// Handles 0x8c000000 and up, in this order: they sit in the table of run-time types.
constexpr BuiltinSpec kPairs[] = {
    {MPI_FLOAT_INT, "MPI_FLOAT_INT", Basic::f32_i32, 8},
    {MPI_DOUBLE_INT, "MPI_DOUBLE_INT", Basic::f64_i32, 12, 16},
    {MPI_LONG_INT, "MPI_LONG_INT", Basic::i64_i32, 12, 16},
    {MPI_SHORT_INT, "MPI_SHORT_INT", Basic::i16_i32, 6, 8},
    {MPI_LONG_DOUBLE_INT, "MPI_LONG_DOUBLE_INT", Basic::f80_i32, 20, 32},
};

constexpr std::size_t kSlots = std::size(builtin_types);

constexpr std::size_t slot_of(MPI_Datatype handle) {
  return static_cast<std::uint32_t>(handle) & 0xffu;
}

/// Index into kSpecs by slot.
constexpr auto kSpecOfSlot = [] {
  std::array<std::uint8_t, kSlots> index{};
  for (std::size_t i = 0; i < std::size(kSpecs); ++i) index[slot_of(kSpecs[i].handle)] = static_cast<std::uint8_t>(i);
  return index;
}();

constexpr bool each_slot_once() {
  std::array<bool, kSlots> taken{};
  for (const BuiltinSpec& spec : kSpecs) {
    if (taken[slot_of(spec.handle)]) return false;
    taken[slot_of(spec.handle)] = true;
  }
  return true;
}
static_assert(each_slot_once(), "predefined types are told apart by the low byte of their handles");

void fill(Datatype& type, const BuiltinSpec& spec) {
  switch (spec.handle) {
    case MPI_LB:
      type.layout = Layout::lower_marker();
      break;
    case MPI_UB:
      type.layout = Layout::upper_marker();
      break;
    default:
      type.layout = Layout::basic(spec.basic, spec.size, spec.extent);
  }
  RMQ_CHECK(type.layout);
  type.basic = spec.basic;
  type.size = spec.size;
  type.dense = type.layout->is_dense();
  type.committed = type.predefined = true;
}

}  // namespace

Datatype* builtin_types[256] = {};

void init_builtin_types(Runtime& rt) {
  // Never destroyed: programs may call MPI from destructors of their static objects.
  auto* const types = new Datatype[std::size(kSpecs)];
  for (std::size_t i = 0; i < std::size(kSpecs); ++i) {
    Datatype& type = types[i];
    type.handle = kSpecs[i].handle;
    fill(type, kSpecs[i]);
    builtin_types[slot_of(type.handle)] = &type;
  }
  for (const BuiltinSpec& spec : kPairs) {
    Datatype* type = rt.datatypes.add(std::make_unique<Datatype>());
    RMQ_CHECK(type->handle == spec.handle);
    fill(*type, spec);
  }
}

std::string_view type_name(const Datatype& type) {
  if (!type.name.empty() || !type.predefined || type.contents.combiner != MPI_COMBINER_NAMED) return type.name;
  if (handle_storage(type.handle) == kBuiltin) return kSpecs[kSpecOfSlot[slot_of(type.handle)]].name;
  return kPairs[handle_index(type.handle)].name;
}

}  // namespace rmq::mpi
