// SPDX-License-Identifier: BSD-3-Clause
// Operations: the predefined ones, and who keeps those of the program.
#include <iterator>

#include "engine/object/datatypes.hpp"
#include "engine/object/failure.hpp"

namespace rmq::mpi {
namespace {

/// By the handle's index. Never counted, never freed.
Op predefined[] = {
    {},
    {MPI_MAX, 1, ReduceOp::max},
    {MPI_MIN, 1, ReduceOp::min},
    {MPI_SUM, 1, ReduceOp::sum},
    {MPI_PROD, 1, ReduceOp::prod},
    {MPI_LAND, 1, ReduceOp::land},
    {MPI_BAND, 1, ReduceOp::band},
    {MPI_LOR, 1, ReduceOp::lor},
    {MPI_BOR, 1, ReduceOp::bor},
    {MPI_LXOR, 1, ReduceOp::lxor},
    {MPI_BXOR, 1, ReduceOp::bxor},
    {MPI_MINLOC, 1, ReduceOp::minloc},
    {MPI_MAXLOC, 1, ReduceOp::maxloc},
    {MPI_REPLACE, 1, ReduceOp::replace, nullptr, false},
    {MPI_NO_OP, 1, ReduceOp::no_op, nullptr, false},
};

}  // namespace

Op* find_op(MPI_Op handle) {
  if (handle_storage(handle) != kBuiltin) return runtime().ops.find(handle);
  const std::size_t index = handle_index(handle);
  return index < std::size(predefined) && predefined[index].handle == handle && handle != MPI_OP_NULL
             ? &predefined[index]
             : nullptr;
}

void op_retain(Op& op) {
  if (!is_predefined(op)) ++op.refs;
}

void op_release(Op& op) {
  if (!is_predefined(op) && --op.refs == 0) runtime().ops.remove(&op);
}

bool op_valid_for(const Op& op, const Datatype& type) {
  if (op.builtin == ReduceOp::none) return true;
  if (op.builtin == ReduceOp::replace || op.builtin == ReduceOp::no_op || !type.predefined) return false;
  return reduce_defined(op.builtin, type.basic);
}

void check_op(const Op& op, const Datatype& type) {
  if (op_valid_for(op, type)) [[likely]]
    return;
  const std::string_view name = type_name(type);
  fail_call(MPI_ERR_OP, "the operation of argument op is not defined for the datatype" +
                            (name.empty() ? std::string() : " " + std::string(name)));
}

}  // namespace rmq::mpi
