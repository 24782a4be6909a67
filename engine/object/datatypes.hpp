// SPDX-License-Identifier: BSD-3-Clause
// Datatypes and operations as the rest of engine/ and the faces see them. Everything here runs under the device's
// Entry.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/data/data_view.hpp"
#include "engine/object/objects.hpp"
#include "engine/object/runtime.hpp"

namespace rmq::mpi {

// ---- types: builtin.cpp, datatypes.cpp ----

/// Makes the predefined types. Once, before any other call here and before the first run-time type: the pair types of C
/// have the handles of the table's first five.
void init_builtin_types(Runtime& rt);

/// Predefined types with a handle of kBuiltin, by its lowest byte; nullptr where there is none.
extern Datatype* builtin_types[256];

/// nullptr when the handle is no live type. MPI_LB and MPI_UB are found: types without data.
inline Datatype* find_datatype(MPI_Datatype handle) {
  if (handle_storage(handle) == kBuiltin) [[likely]] {
    Datatype* type = builtin_types[static_cast<unsigned>(handle) & 0xffu];
    return type && type->handle == handle ? type : nullptr;
  }
  return runtime().datatypes.find(handle);
}

/// What MPI_Type_get_name says: the user's name, else that of a predefined type, else nothing.
std::string_view type_name(const Datatype& type);

/// One more object or user handle needs the type. Predefined types are not counted.
void type_retain(Datatype& type);
/// One fewer. The last takes the type away and lets go of the types it was made from, attributes and all.
void type_release(Datatype& type);

/// `count` elements at `buf`. count * type.size fits 63 bits: bytes_arg() has seen to it.
inline DataView view_of(const Datatype& type, void* buf, MPI_Count count) {
  if (type.dense) [[likely]]
    return DataView::contiguous(buf, static_cast<std::uint64_t>(count) * type.size);
  return type.layout->view(buf, static_cast<std::uint64_t>(count));
}

/// A layout goes that windows may have used: their targets need not know it any more.
void forget_layout(const Layout* layout);

/// The layout, unless it is empty because sizes left the 64-bit range: a Failure.
LayoutRef checked(LayoutRef layout);
/// A new derived type with its one reference, from a layout that is checked here. The types in `contents` gain one
/// each.
Datatype& make_type(LayoutRef layout, TypeContents contents);
/// `elements` times `extent`, bytes; a product beyond 64 bits is a Failure.
std::int64_t element_distance(MPI_Count elements, std::int64_t extent);

/// Predefined elements that `bytes` bytes of a message of this type are (MPI_Get_elements); MPI_UNDEFINED when they end
/// inside of one.
MPI_Count elements_in(const Datatype& type, MPI_Count bytes);

// ---- operations: ops.cpp ----

/// nullptr when the handle is no live operation.
Op* find_op(MPI_Op handle);
/// Not one of the program's.
inline bool is_predefined(const Op& op) {
  return op.builtin != ReduceOp::none;
}
/// One more, or one fewer, communication or user handle needs the operation. Predefined ones are not counted.
void op_retain(Op& op);
void op_release(Op& op);

/// Whether a reduction may use the operation on the type: a user operation on any, a predefined one on the predefined
/// types that MPI names. Never MPI_REPLACE and MPI_NO_OP, which are for accumulate. Where it holds for a predefined
/// operation, base/data/reduction.hpp does the work.
bool op_valid_for(const Op& op, const Datatype& type);
/// Throws a Failure of class MPI_ERR_OP unless it holds.
void check_op(const Op& op, const Datatype& type);

}  // namespace rmq::mpi
