// SPDX-License-Identifier: BSD-3-Clause
// The arguments of one-sided operations, checked, as rma/ takes them. All of it is on the path of an 8-byte put, hence
// inline.
#pragma once

#include "engine/window/windows.hpp"
#include "rma/window/short_way.hpp"

namespace rmq::mpi {

/// `count` elements of `type` at displacement `disp` of a rank, as the program says it.
struct Remote {
  int rank;
  MPI_Aint disp;
  MPI_Count count;
  MPI_Datatype type;
};

/// The same in the program's own memory.
struct Local {
  const void* data;
  MPI_Count count;
  MPI_Datatype type;
};

/// Of an operation on nobody only the rank is looked at, as the standard has it.
[[gnu::always_inline]] inline bool is_nobody(const Win& w, const Remote& r) {
  return target_arg(w, r.rank) == MPI_PROC_NULL;
}

/// Names of the parameters behind a Local.
struct LocalNames {
  const char *data = "origin_addr", *count = "origin_count", *type = "origin_datatype";
};
inline constexpr LocalNames kOrigin, kResult{"result_addr", "result_count", "result_datatype"};

[[gnu::always_inline]] inline DataView view_arg(const Local& l, const LocalNames& names = kOrigin) {
  const Buffer b = buffer_arg(l.data, l.count, l.type, names.data, names.count, names.type);
  return view_of(*b.type, b.data, b.count);
}

[[gnu::always_inline]] inline rma::Target target_arg(const Remote& r) {
  count_arg(r.count, "target_count");
  const Datatype& type = committed_arg(r.type, "target_datatype");
  bytes_arg(type, r.count, "target_count");
  return {r.rank, r.disp, type.layout.get(), static_cast<std::uint64_t>(r.count)};
}

/// One element of a predefined type.
[[gnu::always_inline]] inline rma::Target element_arg(int rank, MPI_Aint disp, MPI_Datatype type) {
  const Datatype& t = type_arg(type);
  if (!t.predefined) [[unlikely]]
    fail_call(MPI_ERR_TYPE, "argument datatype is no predefined datatype");
  return {rank, disp, t.layout.get(), 1};
}

// ---- for the short way ----

/// A predefined type without gaps, else null.
[[gnu::always_inline]] inline const Datatype* plain_type(MPI_Datatype handle) {
  if (handle_storage(handle) != kBuiltin) return nullptr;
  const Datatype* type = builtin_types[static_cast<unsigned>(handle) & 0xffu];
  return type && type->handle == handle && type->dense ? type : nullptr;
}

/// Calls `way(bytes)` when both sides are as many elements of one plain type, else returns false.
template <class Way>
[[gnu::always_inline]] inline bool plain_run(const Local& origin, const Remote& target, Way&& way) {
  if (!origin.data || origin.type != target.type || origin.count != target.count || origin.count < 0) return false;
  const Datatype* type = plain_type(origin.type);
  std::uint64_t bytes;
  return type && !__builtin_mul_overflow(type->size, static_cast<std::uint64_t>(origin.count), &bytes) && way(bytes);
}

/// The operations that go the short way; ReduceOp::none for any other.
[[gnu::always_inline]] inline ReduceOp plain_op(MPI_Op op) {
  return op == MPI_SUM       ? ReduceOp::sum
         : op == MPI_REPLACE ? ReduceOp::replace
         : op == MPI_NO_OP   ? ReduceOp::no_op
                             : ReduceOp::none;
}

/// The operation of an accumulate: a predefined one.
[[gnu::always_inline]] inline ReduceOp accumulate_op_arg(MPI_Op op) {
  const ReduceOp builtin = op_arg(op).builtin;
  if (builtin == ReduceOp::none) [[unlikely]]
    fail_call(MPI_ERR_OP, "argument op is an operation of the program's own: accumulates take predefined ones only");
  return builtin;
}

/// MPI_NO_OP is for those that fetch as well.
[[gnu::always_inline]] inline ReduceOp plain_op_arg(MPI_Op op) {
  if (op == MPI_NO_OP) [[unlikely]]
    fail_call(MPI_ERR_OP, "argument op is MPI_NO_OP, which only fetching accumulates take");
  return accumulate_op_arg(op);
}

/// The origin of a fetching accumulate: MPI_NO_OP ignores it.
[[gnu::always_inline]] inline DataView fetch_origin_arg(const Local& origin, ReduceOp op) {
  return op == ReduceOp::no_op ? DataView{} : view_arg(origin);
}

}  // namespace rmq::mpi
