// What accumulates and their request-based forms share.
#pragma once

#include "mpi/internal/rma_args.hpp"

namespace rmq::mpi {

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
