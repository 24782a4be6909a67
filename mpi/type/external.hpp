// SPDX-License-Identifier: BSD-3-Clause
// The "external32" representation (MPI-4.0, section 14.5.2): big-endian, without gaps, sizes the same everywhere: long
// has 4 bytes, wchar_t 2, long double 16 (IEEE binary128). It follows the type map down to the predefined types.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/object/datatypes.hpp"

namespace rmq::mpi {

/// Bytes that `count` elements fill; never more than bytes_arg(), which must not fail.
std::uint64_t external_bytes(const Datatype& type, MPI_Count count);

/// Converts `count` elements at `from` to external_bytes() bytes at `to`, and back. Throws a Failure of class
/// MPI_ERR_CONVERSION when a value has no representation.
void pack_external(std::byte* to, const Datatype& type, const void* from, MPI_Count count);
void unpack_external(const Datatype& type, void* to, MPI_Count count, const std::byte* from);

}  // namespace rmq::mpi
