// SPDX-License-Identifier: BSD-3-Clause
// Types of a rectangular part of an array in any number of dimensions.
#include "mpi/define.hpp"
#include "mpi/type/make.hpp"

namespace rmq::mpi {
namespace {

template <class Int>
void check_part(int ndims, const Int* sizes, const Int* subsizes, const Int* starts) {
  if (ndims < 1) fail_call(MPI_ERR_DIMS, "argument ndims is " + std::to_string(ndims) + ", must be positive");
  array_arg(sizes, ndims, "array_of_sizes");
  array_arg(subsizes, ndims, "array_of_subsizes");
  array_arg(starts, ndims, "array_of_starts");
  for (int i = 0; i < ndims; ++i) {
    if (subsizes[i] < 1 || subsizes[i] > sizes[i] || starts[i] < 0 || starts[i] > sizes[i] - subsizes[i]) {
      fail_call(MPI_ERR_ARG, "dimension " + std::to_string(i) + ": a part of " + std::to_string(subsizes[i]) +
                                 " from " + std::to_string(starts[i]) + " is not inside an array of " +
                                 std::to_string(sizes[i]));
    }
  }
}

template <class Int>
void make_subarray(int ndims, const Int* sizes, const Int* subsizes, const Int* starts, int order, MPI_Datatype oldtype,
                   MPI_Datatype* newtype) {
  check_part(ndims, sizes, subsizes, starts);
  check_order(order);
  Datatype& of = type_arg(oldtype, "oldtype");

  LayoutRef part = of.layout;
  std::int64_t stride = of.layout->extent();  // between neighbours in the dimension at hand, bytes
  std::int64_t start = 0;                     // of the part in the array, bytes
  for (int n = 0; n < ndims; ++n) {
    const int i = order == MPI_ORDER_FORTRAN ? n : ndims - 1 - n;  // the dimension that changes fastest comes first
    part = checked(Layout::hvector(static_cast<std::uint64_t>(subsizes[i]), 1, stride, *part));
    const std::int64_t whole = element_distance(sizes[i], stride);
    start += element_distance(starts[i], stride);  // stays below `whole`
    stride = whole;
  }
  const std::uint64_t one = 1;
  part = checked(Layout::hindexed({&one, 1}, {&start, 1}, *part));

  Arguments<Int> arguments(MPI_COMBINER_SUBARRAY);
  arguments.integer(ndims).counts(sizes, ndims).counts(subsizes, ndims).counts(starts, ndims).integer(order).type(of);
  publish_type(newtype, Layout::resized(*part, 0, stride), arguments.take());
}

}  // namespace

void check_order(int order) {
  if (order != MPI_ORDER_C && order != MPI_ORDER_FORTRAN) {
    fail_call(MPI_ERR_ARG,
              "argument order is " + std::to_string(order) + ", neither MPI_ORDER_C nor MPI_ORDER_FORTRAN");
  }
}

RMQ_MPI(int, Type_create_subarray,
        (int ndims, const int sizes[], const int subsizes[], const int starts[], int order, MPI_Datatype oldtype,
         MPI_Datatype* newtype)) {
  return enter([&] { make_subarray(ndims, sizes, subsizes, starts, order, oldtype, newtype); });
}

RMQ_MPI(int, Type_create_subarray_c,
        (int ndims, const MPI_Count sizes[], const MPI_Count subsizes[], const MPI_Count starts[], int order,
         MPI_Datatype oldtype, MPI_Datatype* newtype)) {
  return enter([&] { make_subarray(ndims, sizes, subsizes, starts, order, oldtype, newtype); });
}

}  // namespace rmq::mpi
