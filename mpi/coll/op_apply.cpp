// What an operation does to data: base/reduction.hpp for the predefined types that it knows, binary128 arithmetic for
// Fortran's REAL*16 and COMPLEX*32, or the program's own function.
#include <algorithm>
#include <climits>
#include <cstring>

#include "mpi/internal/call.hpp"
#include "mpi/internal/datatypes.hpp"
#include "mpi/internal/task.hpp"

namespace rmq::mpi {
namespace {

// ---- binary128 ----

enum class Quad { no, real, complex };

Quad quad_of(const Datatype& type) {
  if (!type.predefined || type.basic != Basic::none) return Quad::no;
  return type.size == 16 ? Quad::real : type.size == 32 ? Quad::complex : Quad::no;
}

bool quad_defined(ReduceOp op, Quad kind) {
  if (op == ReduceOp::sum || op == ReduceOp::prod) return kind != Quad::no;
  return kind == Quad::real && (op == ReduceOp::max || op == ReduceOp::min);
}

struct QuadComplex {
  __float128 re, im;
};
__float128 combine(ReduceOp op, __float128 a, __float128 b) {
  switch (op) {
    case ReduceOp::sum:
      return a + b;
    case ReduceOp::prod:
      return a * b;
    case ReduceOp::max:
      return a < b ? b : a;
    default:
      return b < a ? b : a;
  }
}
QuadComplex combine(ReduceOp op, const QuadComplex& a, const QuadComplex& b) {
  if (op == ReduceOp::sum) return {a.re + b.re, a.im + b.im};
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

template <class T>
void reduce_quads(ReduceOp op, const void* in, void* inout, MPI_Count count) {
  for (MPI_Count i = 0; i < count; ++i) {
    T a, b;  // copied: the program's buffers need not be aligned
    std::memcpy(&a, static_cast<const T*>(in) + i, sizeof a);
    std::memcpy(&b, static_cast<T*>(inout) + i, sizeof b);
    b = combine(op, a, b);
    std::memcpy(static_cast<void*>(static_cast<T*>(inout) + i), &b, sizeof b);
  }
}

// ---- functions of the program ----

void call_function(adi::Device& device, const Op& op, const void* in, void* inout, MPI_Count count,
                   const Datatype& type) {
  if (Task* const task = Task::current()) [[unlikely]]
    return task->call_outside([&] { call_function(device, op, in, inout, count, type); });
  MPI_Datatype handle = type.handle;
  void* const from = const_cast<void*>(in);
  if (op.large_function) {
    MPI_User_function_c* const function = op.large_function;
    const adi::Device::Absence released(device);
    function(from, inout, &count, &handle);
    return;
  }
  MPI_User_function* const function = op.function;
  const auto cxx_proxy = op.cxx_proxy;
  const std::int64_t extent = type.layout->extent();
  const adi::Device::Absence released(device);
  for (MPI_Count done = 0; done < count;) {
    int portion = static_cast<int>(std::min<MPI_Count>(count - done, INT_MAX));
    const MPI_Count next = done + portion;
    void* const one = static_cast<std::byte*>(from) + done * extent;
    void* const other = static_cast<std::byte*>(inout) + done * extent;
    if (cxx_proxy) {
      cxx_proxy(one, other, portion, handle, function);
    } else {
      function(one, other, &portion, &handle);
    }
    done = next;
  }
}

}  // namespace

bool op_valid_for(const Op& op, const Datatype& type) {
  if (op.builtin == ReduceOp::none) return true;
  if (op.builtin == ReduceOp::replace || op.builtin == ReduceOp::no_op || !type.predefined) return false;
  return reduce_defined(op.builtin, type.basic) || quad_defined(op.builtin, quad_of(type));
}

void check_op(const Op& op, const Datatype& type) {
  if (op_valid_for(op, type)) [[likely]]
    return;
  const std::string_view name = type_name(type);
  fail_call(MPI_ERR_OP, "the operation of argument op is not defined for the datatype" +
                            (name.empty() ? std::string() : " " + std::string(name)));
}

void apply_op(adi::Device& device, const Op& op, const void* in, void* inout, MPI_Count count, Datatype& type) {
  if (op.builtin == ReduceOp::none) return call_function(device, op, in, inout, count, type);
  switch (quad_of(type)) {
    case Quad::no:
      return reduce(op.builtin, type.basic, in, inout, static_cast<std::size_t>(count));
    case Quad::real:
      return reduce_quads<__float128>(op.builtin, in, inout, count);
    case Quad::complex:
      return reduce_quads<QuadComplex>(op.builtin, in, inout, count);
  }
}

}  // namespace rmq::mpi
