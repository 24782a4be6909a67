// SPDX-License-Identifier: BSD-3-Clause
// Reduction operations on arrays of predefined elements: the arithmetic behind MPI_Reduce, the *join* destination
// operation and MPI_Accumulate.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/data/layout.hpp"

namespace rmq {

/// Fixed numbers: they travel in accumulate packets.
enum class ReduceOp : std::uint8_t {
  none = 0,
  sum = 1,
  prod = 2,
  max = 3,
  min = 4,
  land = 5,
  lor = 6,
  lxor = 7,
  band = 8,
  bor = 9,
  bxor = 10,
  maxloc = 11,
  minloc = 12,
  replace = 13,
  no_op = 14,
};

/// Whether the operation is defined for the type: MPI-4.0 section 6.9.2, and as in MPICH logical operations on
/// floating-point numbers. `replace` and `no_op` are defined for every type.
bool reduce_defined(ReduceOp op, Basic type);

/// inout[i] = in[i] op inout[i] for `count` elements, as they lie in memory (basic_size each: pairs with their
/// padding). The operation must be defined for the type. Buffers need not be aligned to the element and must not
/// overlap. Vectorised for the arithmetic types. Integers wrap; of NaN, or of -0 and 0, max and min keep `in`.
/// `replace` of a type without a size (basic_size 0) takes `count` as bytes.
void reduce(ReduceOp op, Basic type, const void* in, void* inout, std::size_t count);

/// inout[i] += scale * in[i], `scale` being one element, for i32, i64, f32, f64, c32 and c64. Else as reduce().
void reduce_scaled(Basic type, const void* scale, const void* in, void* inout, std::size_t count);

/// Bytes of one element in an array in memory: sizeof the C type, 16 for f80 and MPI_DOUBLE_INT, 32 for
/// MPI_LONG_DOUBLE_INT. 0 when the type does not say (none, character).
std::size_t basic_size(Basic type);

/// Bytes of one element in packed order, which differ from basic_size for pairs with padding: i16_i32 6, f64_i32 and
/// i64_i32 12, f80_i32 20. 0 when the type does not say; nullopt when the number names no type.
std::optional<std::uint32_t> basic_packed_size(Basic type);

}  // namespace rmq
