// SPDX-License-Identifier: BSD-3-Clause
// Chapter 6.9: operations that the program makes; one that is applied here.
#include "engine/coll/op_apply.hpp"
#include "mpi/define.hpp"

namespace rmq::mpi {
namespace {

Op& make_op(MPI_User_function* function, int commute) {
  auto op = std::make_unique<Op>();
  op->function = function;
  op->commutative = commute != 0;
  return *runtime().ops.add(std::move(op));
}

void reduce_local(const void* inbuf, void* inoutbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op handle) {
  const Buffer in = buffer_arg(inbuf, count, datatype, "inbuf");
  const Buffer inout = buffer_arg(inoutbuf, count, datatype, "inoutbuf");
  const Op& op = op_arg(handle);
  Datatype& type = type_arg(datatype);
  check_op(op, type);
  if (count == 0) return;
  for (const void* data : {in.data, inout.data}) {
    if (data == MPI_IN_PLACE) fail_call(MPI_ERR_BUFFER, "MPI_IN_PLACE has no meaning here");
  }
  if (in.data == inout.data) fail_call(MPI_ERR_BUFFER, "arguments inbuf and inoutbuf are the same buffer");
  apply_op(*runtime().device, op, in.data, inout.data, count, type);
}

}  // namespace

RMQ_MPI(int, Op_create, (MPI_User_function * user_fn, int commute, MPI_Op* op)) {
  return enter([&] {
    out(op, "op");
    *op = make_op(out(user_fn, "user_fn"), commute).handle;
  });
}

RMQ_MPI(int, Op_create_c, (MPI_User_function_c * user_fn, int commute, MPI_Op* op)) {
  return enter([&] {
    out(op, "op");
    out(user_fn, "user_fn");
    Op& made = make_op(nullptr, commute);
    made.large_function = user_fn;
    *op = made.handle;
  });
}

RMQ_MPI(int, Op_free, (MPI_Op * op)) {
  return enter([&] {
    Op& o = op_arg(*out(op, "op"));
    if (is_predefined(o)) fail_call(MPI_ERR_OP, "argument op is predefined: it cannot be freed");
    op_release(o);
    *op = MPI_OP_NULL;
  });
}

/// For MPICH's C++ library: the function of this operation is C++'s.
extern "C" RMQ_EXPORT void MPII_Op_set_cxx(MPI_Op op, void (*proxy)()) {
  enter([&] { op_arg(op).cxx_proxy = reinterpret_cast<decltype(Op::cxx_proxy)>(proxy); });
}

RMQ_MPI(int, Op_commutative, (MPI_Op op, int* commute)) {
  return enter([&] { *out(commute, "commute") = op_arg(op).commutative; });
}

RMQ_MPI(int, Reduce_local, (const void* inbuf, void* inoutbuf, int count, MPI_Datatype datatype, MPI_Op op)) {
  return enter([&] { reduce_local(inbuf, inoutbuf, count, datatype, op); });
}

RMQ_MPI(int, Reduce_local_c, (const void* inbuf, void* inoutbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op)) {
  return enter([&] { reduce_local(inbuf, inoutbuf, count, datatype, op); });
}

}  // namespace rmq::mpi
